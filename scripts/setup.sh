#!/bin/sh
# Installs the dependencies and builds the command if they are missing or out of date. Safe to call at any time and from many
# processes at once: one does the work, the others wait. Prints its progress to stderr, and nothing if there is nothing to do.
#   setup.sh                dependencies only
#   setup.sh --build        dependencies and dist/
#   setup.sh --clean-build  the same, from an empty dist/ (for packing)
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd) || exit 1
cd "$root" || exit 1
wanted=${1:-}
log=$root/.setup.log
installed=$root/node_modules/.hermes-lock # the lock file that node_modules was installed from; written last
entry=$root/dist/main.cjs

say() { printf 'hermes: %s\n' "$*" >&2; }

require_node() {
  command -v node >/dev/null 2>&1 || {
    say "Node.js is not installed. Install version 22.14 or newer (or 20.19), then run this again."
    exit 1
  }
  # Identifies the exact binary: V8 crashes with code that another binary compiled, even of the same version (src/load-program.ts).
  node=$(node -p 'const [a, b] = process.versions.node.split(".").map(Number); if (a === 20 ? b < 19 : a === 22 ? b < 14 : a < 22) process.exit(1); const { size, mtimeMs } = require("fs").statSync(process.execPath); `${process.version}-${process.arch}-${size}-${Math.trunc(mtimeMs)}`') || {
    say "Hermes does not run on Node.js $(node --version). Install version 22.14 or newer (or 20.19), then run this again."
    exit 1
  }
}
require_npm() {
  command -v npm >/dev/null 2>&1 || {
    say "npm is not installed. It comes with Node.js; on Debian: apt-get install -y npm"
    exit 1
  }
}

has_packages() { [ -f "$installed" ] && cmp -s package-lock.json "$installed"; }
is_installed() { has_packages && [ -f "node_modules/.hermes-node-$node" ]; }
is_bundled() { [ -f "$entry" ] && [ -z "$(find_newer)" ]; }
is_built() { [ -f "dist/.node-$node" ] && is_bundled; }
find_newer() { find src dashboard package.json package-lock.json scripts/build.mjs scripts/build-dashboard.mjs -newer "$entry" 2>&1; }
is_ready() {
  is_installed || return 1
  case $wanted in
    --build) is_built ;;
    --clean-build) return 1 ;;
  esac
}

# Runs "$@" with its output in the log. On a terminal, a line shows the elapsed seconds.
with_progress() {
  title=$1
  shift
  ticker=
  if [ -t 2 ]; then
    (
      n=0
      while sleep 1; do
        n=$((n + 1))
        printf '\rhermes: %s… %ss' "$title" "$n" >&2
      done
    ) &
    ticker=$!
  else
    say "$title…"
  fi
  "$@" >"$log" 2>&1 </dev/null
  result=$?
  if [ -n "$ticker" ]; then
    kill "$ticker" 2>/dev/null
    wait "$ticker" 2>/dev/null
    ticker=
    printf '\r\033[K' >&2
  fi
  return "$result"
}

explain_failure() {
  tail -n 15 "$log" >&2
  say "$1 failed for the reason above; the full output is in $log. Fix the cause, then run this again."
}

fetch_packages() {
  rm -f "$installed"
  # Only SQLite needs its install script, and only where it must be compiled.
  with_progress "installing dependencies" npm ci --ignore-scripts --no-audit --no-fund --loglevel=warn || {
    explain_failure "Installing"
    rm -rf node_modules
    return 1
  }
  rm -f dist/.node-* # npm ci removed the modules that were compiled for other Nodes
  cp package-lock.json "$installed.new" && mv "$installed.new" "$installed"
}

sqlite_package() {
  node_modules/.bin/esbuild scripts/sqlite-package.ts --bundle --packages=external --platform=node --log-level=error | node
}
sqlite_loads() { node -e 'new (require(process.argv[1]))(":memory:")' "$1" >/dev/null 2>&1; }

run_install_script() (
  cd "$scratch/sqlite" && PATH=$root/node_modules/.bin:$PATH && export PATH && npm run install --loglevel=warn
)

compile_sqlite() {
  # Most installations have Node's headers next to the binary; then compiling needs no download.
  prefix=$(node -p 'require("path").dirname(require("path").dirname(process.execPath))')
  [ -f "$prefix/include/node/node.h" ] && export npm_config_nodedir="$prefix"
  # In a separate folder, because make and node-gyp fail in some paths.
  scratch=$(mktemp -d /tmp/hermes-sqlite-XXXXXX) && cp -R "node_modules/$1" "$scratch/sqlite" || return 1
  if with_progress "fetching or compiling SQLite (about a minute)" run_install_script; then
    rm -rf "node_modules/$1" && mv "$scratch/sqlite" "node_modules/$1" && rm -rf "$scratch"
    return
  fi
  rm -rf "$scratch"
  tail -n 15 "$log" >&2
  missing=
  for tool in make g++ python3; do
    command -v "$tool" >/dev/null 2>&1 || missing="$missing $tool"
  done
  if [ -n "$missing" ]; then
    say "On Node.js $(node --version) SQLite must be compiled, and these are missing:$missing."
    say "Install Node.js 22.14 or newer, which needs none of them, or on Debian: apt-get install -y$missing"
  else
    say "Compiling SQLite failed for the reason above; the full output is in $log."
    say "With Node.js 22.14 or newer, nothing needs to be compiled."
  fi
  return 1
}

install() {
  require_npm
  package=
  has_packages && package=$(sqlite_package)
  if [ -z "$package" ] || [ ! -d "node_modules/$package" ]; then
    fetch_packages || return 1
    package=$(sqlite_package)
  fi
  sqlite_loads "$package" || compile_sqlite "$package" || return 1
  : >"node_modules/.hermes-node-$node"
}

build() {
  [ "$wanted" = --clean-build ] && rm -rf dist
  # Another Node needs its own compiled code, but not another bundle.
  is_bundled && with_progress "compiling for Node.js $(node --version)" node scripts/build.mjs "$node" --compile && return
  with_progress "building" node scripts/build.mjs "$node" || {
    explain_failure "Building"
    return 1
  }
}

# After Ctrl-C or a kill, no incomplete result may look complete.
abandon() {
  [ -n "${ticker:-}" ] && kill "$ticker" 2>/dev/null
  has_packages || rm -rf node_modules
  rm -rf dist/.new-* ${scratch:+"$scratch"}
  printf '\n' >&2
  say "stopped; incomplete files were removed."
  exit 130
}

work() {
  is_ready && return 0
  is_installed || install || return 1
  case $wanted in
    --build) is_built || build ;;
    --clean-build) build ;;
  esac
}

# Whether the checkout is usable although another user built it with another Node; it then only starts more slowly.
is_usable() {
  has_packages && [ "$wanted" != --clean-build ] && sqlite_loads "$(sqlite_package)" || return 1
  [ "$wanted" != --build ] || is_bundled
}

require_node
is_ready && exit 0
if [ ! -w . ]; then
  is_usable && exit 0
  say "$root has not been built for Node.js $(node --version), and you may not write there."
  say "Ask its owner to run ./hermes there once with this Node, or use your own copy."
  exit 1
fi
ticker=
trap abandon INT TERM HUP
if command -v flock >/dev/null 2>&1; then
  exec 9>.setup.lock
  flock -n 9 || {
    say "waiting for another process to finish installing…"
    flock 9
  }
else
  # Without flock (macOS) the lock is a folder, which is taken over if its owner process has exited.
  until mkdir .setup.lock.d 2>/dev/null; do
    owner=$(cat .setup.lock.d/pid 2>/dev/null)
    [ -n "$owner" ] && ! kill -0 "$owner" 2>/dev/null && rm -rf .setup.lock.d
    sleep 1
  done
  echo $$ >.setup.lock.d/pid
  trap 'rm -rf .setup.lock.d' EXIT
fi
work
