"""Real packages, pinned by hash: fetched when the tests run, never committed."""

from __future__ import annotations

from dataclasses import dataclass

JAVA = b"""version: 1
setup:
  packages: [default-jdk-headless, junit4, libhamcrest-java, libcommons-lang3-java]
checks:
  - name: junit
    timeout: 600
    run: |
      CLASSPATH=/tmp/made:/usr/share/java/junit4.jar:/usr/share/java/hamcrest-core.jar
      export CLASSPATH=$CLASSPATH:/usr/share/java/commons-lang3.jar
      mkdir -p /tmp/made && cp -r src/main/resources/. src/test/resources/. /tmp/made
      javac -nowarn -encoding utf-8 -d /tmp/made \\
        $(find src/main/java src/test/java -name '*.java')
      for one in binary.HexTest binary.StringUtilsTest net.URLCodecTest; do
        java org.junit.runner.JUnitCore org.apache.commons.codec.$one
      done
"""
ZLIB = b"""version: 1
checks:
  - {name: make test, run: "sh ./configure && make -s test", timeout: 300}
"""


@dataclass(frozen=True)
class Package:
    """One package. `kind` is how it is fetched: sdist, npm, deb (a binary package with sources) or
    source (a source package's own tar). `inside` is the folder that counts as the repository,
    `config` the configuration that is laid into it, `quick` puts it into the normal tests."""

    ecosystem: str
    kind: str
    name: str
    version: str
    sha256: str
    inside: str = ""
    config: bytes = b""
    quick: bool = False
    tests: int = 0  # at least so many are counted by the report, 0 where there is none


PACKAGES = (
    Package(
        "Python", "sdist", "itsdangerous", "2.2.0",
        "e0050c0b7da1eea53ffaf149c0cfbb5c6e2e2b69c4bef22c81fa6eb73e5f6173", quick=True, tests=150,
    ),
    Package(
        "Python", "sdist", "humanize", "4.9.0",
        "582a265c931c683a7e9b8ed9559089dea7edcf6cc95be39a3cbc2c5d5ac2bcfa", tests=300,
    ),
    Package(
        "Python", "sdist", "boltons", "26.1.0",
        "5764468aba493b15995ed17f46a16789023f123ca2a62d491a9ce825c1cbe26c", tests=300,
    ),
    Package(
        "Python", "sdist", "toolz", "1.1.0",
        "27a5c770d068c110d9ed9323f24f1543e83b2f300a687b7891c1a6d56b697b5b", tests=100,
    ),
    Package(
        "Node", "npm", "concat-map", "0.0.1",
        "35902dd620cf0058c49ea614120f18a889d984269a90381b7622e79c2cfe4261",
    ),
    Package(
        "Node", "npm", "deep-equal", "1.0.1",
        "679226cbc8173a807e1985410f71a06092f25bea729da142d9fda15a8e085ed0",
    ),
    Package(
        "Node", "npm", "isarray", "1.0.0",
        "e23c76f14f5222e07e39d89858b61e8e33f96956de9e0df3659cbdf8db950c87",
    ),
    Package(
        "Node", "npm", "left-pad", "1.3.0",
        "870c0fe1096223a58d4f8832d08a7e651ea2fcadb8e6877b2fdc26b662d481dd",
    ),
    Package(
        "C", "source", "bzip2", "1.0.8-5",
        "ab5a03176ee106d3f0fa90e381da478ddae405918153cca248e682cd0c4a2269", quick=True,
    ),
    Package(
        "C", "source", "zlib", "1:1.2.13.dfsg-1",
        "71feb7947e3c00ef125f83b79a4e529bde31171e5babe48b391f06758d1ab0a1", config=ZLIB,
    ),
    Package(
        "Go", "deb", "golang-github-google-uuid-dev", "1.3.0-1",
        "f79ead959ee04842fcb410347e7023a3c4c357c17f77b9bb13cff30ef4353351",
        inside="usr/share/gocode/src/github.com/google/uuid",
    ),
    Package(
        "Go", "deb", "golang-github-hashicorp-go-version-dev", "1.3.0-1",
        "8455f2814a5105245132a25ee8519781a59bdddcce27698e03c584f66160120f",
        inside="usr/share/gocode/src/github.com/hashicorp/go-version",
    ),
    Package(
        "Rust", "deb", "librust-fnv-dev", "1.0.7-1",
        "906cc04d72bbbb03e1439c56aa5c66356fee07a27716484623ba22754431d17f",
        inside="usr/share/cargo/registry/fnv-1.0.7",
    ),
    Package(
        "Java", "source", "libcommons-codec-java", "1.15-1",
        "857c58c23bfe6b284b174d89f323de438042ce9a005b2a81afa658962caff90f", config=JAVA,
    ),
)  # fmt: skip
