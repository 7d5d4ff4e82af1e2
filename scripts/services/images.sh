# shellcheck shell=bash
# The two container images, built from Debian packages and cached as tar files.

IMAGE_CACHE=${XDG_CACHE_HOME:-${HOME:-$FOLDER}/.cache}/hermes-test
RECIPE=1 # raise it when a recipe below changes, so that cached images are built again
SUITE=$(. /etc/os-release 2>/dev/null && printf '%s' "${VERSION_CODENAME-}") || true
BASH_TAR=$IMAGE_CACHE/bash-$SUITE-$(uname -m)-$RECIPE.tar
BUSYBOX_TAR=$IMAGE_CACHE/busybox-$SUITE-$(uname -m)-$RECIPE.tar
BASH_IMAGE=hermes-test-bash
BUSYBOX_IMAGE=hermes-test-busybox

uses_images() { [[ $1 == docker || $1 == podman ]]; }

images_json() { printf '"images":{"bash":"%s","busybox":"%s"}' "$BASH_IMAGE" "$BUSYBOX_IMAGE"; }

missing_image_tools() {
  if [[ ! -e $BASH_TAR ]] && ! command -v debootstrap >/dev/null; then printf 'debootstrap=debootstrap\n'; fi
}

missing_images() {
  if [[ ! -e $BASH_TAR || ! -e $BUSYBOX_TAR ]] && ! may_install; then
    printf 'no cached images in %s: run scripts/test-services once as root where apt-get may install' "$IMAGE_CACHE"
  fi
}

prepare_images() {
  local part wanted=false started_at=$EPOCHREALTIME
  for part; do
    if uses_images "$part" && [[ -z $(missing_of "$part") ]]; then wanted=true; fi
  done
  if ! $wanted || [[ -e $BASH_TAR && -e $BUSYBOX_TAR ]]; then return 0; fi
  say "building the container images"
  if build_images >"$FOLDER/images.log" 2>&1; then
    say "built the container images ($(elapsed "$started_at") s)"
  else
    say "images not built: $(last_line "$FOLDER/images.log") (log: $FOLDER/images.log)"
  fi
}

require_images() {
  [[ -e $BASH_TAR && -e $BUSYBOX_TAR ]] || give_up "$1" "its images were not built: $(last_line "$FOLDER/images.log")"
}

build_images() (
  mkdir -p "$IMAGE_CACHE" && exec 7>"$IMAGE_CACHE/lock" && flock 7 || return
  for left in "$IMAGE_CACHE"/build.*; do remove_folder "$left"; done
  build=$(mktemp -d "$IMAGE_CACHE/build.XXXXXX") || return
  trap 'remove_folder "$build"' EXIT
  trap 'exit 130' INT TERM HUP
  [[ -e $BUSYBOX_TAR ]] || { fill_busybox "$build" && pack "$build/root" "$BUSYBOX_TAR"; } || return
  [[ -e $BASH_TAR ]] || { fill_bash "$build/debian" && pack "$build/debian" "$BASH_TAR"; }
)

pack() { tar -C "$1" --numeric-owner -cf "$2.new" . && mv "$2.new" "$2"; }

# Downloaded and not installed: the package would replace the machine's own busybox.
fill_busybox() {
  local root=$1/root busybox applet
  mkdir -p "$1/package" "$root/bin" "$root/etc" &&
    (cd "$1/package" && with_fresh_lists apt_get download busybox-static && dpkg-deb -x busybox-static_*.deb .) || return
  busybox=$(find "$1/package" -name busybox -type f -perm -u+x | head -n 1)
  cp "$busybox" "$root/bin/busybox" || return
  for applet in $("$busybox" --list); do
    [[ $applet == busybox ]] || ln -s busybox "$root/bin/$applet" || return
  done
  printf 'root:x:0:0:root:/:/bin/sh\n' >"$root/etc/passwd"
  mkdir -m 1777 "$root/tmp"
}

fill_bash() {
  local mirror
  mirror=$(with_fresh_lists apt_mirror) || return
  use_apt_proxies
  debootstrap --variant=minbase --include=procps "$SUITE" "$1" "$mirror" || return
  # No test reads these files, and they are half of what every start imports.
  rm -rf "$1"/var/cache/apt/archives/*.deb "$1"/var/cache/apt/*.bin "$1"/var/lib/apt/lists/* \
    "$1"/usr/share/{doc,info,locale,man}/*
}

apt_mirror() {
  # shellcheck disable=SC2016 # the dollars are apt's
  apt-get indextargets --format '$(CODENAME) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' |
    awk -v suite="$SUITE" '$1 == suite && $2 == "main" { print $3; found = 1; exit } END { exit !found }'
}

# debootstrap downloads with wget, which reads the proxy variables and not apt's settings.
use_apt_proxies() {
  local name proxy
  for name in http https; do
    eval "$(apt-config shell proxy "Acquire::$name::Proxy")"
    if [[ -n ${proxy-} && $proxy != DIRECT ]]; then export "${name}_proxy=$proxy"; fi
  done
}
