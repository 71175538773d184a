"""A report as one page: a file without scripts, addresses or anything else to load."""

from __future__ import annotations

from html import escape

from markdown_it import MarkdownIt

from app.domain import report
from app.domain.report import Facts
from app.domain.run import Run

# Nothing on the page may run or be fetched, whatever the text in it became.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
STYLE = """
:root { color-scheme: light dark; --line: #d0d7de; --quiet: #f6f8fa; --link: #0969da; }
@media (prefers-color-scheme: dark) {
  :root { --line: #3d444d; --quiet: #151b23; --link: #4493f8; }
}
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  overflow-wrap: break-word; }
h1, h2 { line-height: 1.25; border-bottom: 1px solid var(--line); padding-bottom: .3rem; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { border: 1px solid var(--line); padding: .4rem .8rem; text-align: left; }
code, pre { font: .85em/1.45 ui-monospace, monospace; background: var(--quiet); }
code { padding: .2em .4em; border-radius: 6px; }
pre { padding: 1rem; overflow: auto; max-height: 40rem; }
pre code { padding: 0; font-size: 1em; white-space: pre; overflow-wrap: normal; }
a { color: var(--link); }
summary { cursor: pointer; }
"""


def page(run: Run, facts: Facts) -> str:
    """The whole report of `run` as HTML, from the same findings as the pull request's body.

    The Markdown is ours, and what came from outside is inert in it; the only HTML that it holds is
    our own folds.
    """
    title = f"Evidence about {run.repository.full_name}"
    issue = f" #{run.issue}" if run.issue else ""
    body = MarkdownIt("commonmark", {"html": True}).enable("table").render(report.page(run, facts))
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{escape(title + issue)}</title><style>{STYLE}</style></head>\n"
        f"<body><h1>{escape(title + issue)}</h1>\n{body}</body></html>\n"
    )
