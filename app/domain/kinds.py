"""Changed paths that decide by their kind: links, compiled files, installed packages' metadata.

None of them can be read by a reviewer as source can, and each may be executed or imported in the
place of something else.
"""

from __future__ import annotations

import re

from app.domain.edit import EXECUTABLE, GITLINK, LINK, Delta
from app.domain.paths import folded

_COMPILED = re.compile(
    r"\.(?:py[cdo]|pth|egg-link|so(?:\.\d+)*|dll|dylib|class|jar|war|aar|wasm|node|exe|o|obj|a|lib"
    r"|beam|elc|phar|whl|egg|gem|nupkg|rlib|rmeta)$"
)
_METADATA = re.compile(
    r"(?:^|/)(?:__pycache__|[^/]*\.(?:dist-info|egg-info|egg-link))(?:/|$)|(?:^|/)entry_points\.txt$"
)
_VENDORED = re.compile(
    r"(?:^|/)(?:node_modules|bower_components|jspm_packages|site-packages|dist-packages|\.?venv"
    r"|virtualenv|\.tox|\.nox|vendor|third_party|third-party|_vendor|\.yarn|\.pnp\.[^/]*"
    r"|__pypackages__)(?:/|$)"
)
# Binary files that nothing executes or imports.
_DATA = re.compile(
    r"\.(?:png|jpe?g|gif|bmp|webp|avif|ico|icns|tiff?|psd|heic|svgz|pdf|docx?|xlsx?|pptx?|od[tsp]"
    r"|mp[34]|m4[av]|wav|ogg|oga|ogv|flac|aac|opus|webm|mov|avi|mkv|woff2?|ttf|otf|eot"
    r"|zip|tar|t?gz|t?bz2|t?xz|zst|7z|rar|br|lz4|parquet|avro|arrow|feather|npy|npz|h5|hdf5|onnx"
    r"|pt|safetensors|mat|rds|rda|db|sqlite3?|mdb|dat|bin|pb|mo|gmo|pickle|pkl|geotiff|shp|dbf|las"
    r"|glb|gltf|fbx|blend|stl|ply|ai|eps|sketch|fig|key|numbers|pages|pcap|raw|wmf|emf|cur|dds|ktx"
    # text in an encoding that git takes for binary
    r"|cs|csv|tsv|ps1|psm1|sql|txt|reg|rc|resx|strings|xml|html?|md|rst|inf|ini|po|srt|vb|log)$"
)


def deciding_kind(delta: Delta) -> str:
    """Why a path decides by its kind, as words behind "it"; "" where it does not."""
    path = folded(delta.path)
    modes = {delta.old_mode, delta.new_mode}
    if LINK in modes:
        return "is a link" if delta.new_mode == LINK else "was a link"
    if GITLINK in modes:
        return "is a submodule"
    if _METADATA.search(path):
        return "is metadata or a cache that an interpreter acts upon"
    if _COMPILED.search(path):
        return "is compiled"
    if _VENDORED.search(path):
        return "is a dependency that the repository holds"
    if delta.added < 0 and (delta.new_mode == EXECUTABLE or not _DATA.search(path)):
        return "is binary and could be executed or imported"
    return ""
