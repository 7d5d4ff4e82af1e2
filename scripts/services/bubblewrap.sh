# shellcheck shell=bash
# bubblewrap with the namespaces that the local sandbox needs. Tests start it themselves, so this part has no process.

bubblewrap_needs() { echo bwrap=bubblewrap; }

BUBBLEWRAP=$FOLDER/bubblewrap

# Fails where the kernel, AppArmor or a container forbids these namespaces.
bubblewrap_version() {
  timeout 20 bwrap --unshare-user --unshare-pid --unshare-ipc --cap-drop ALL --ro-bind / / --dev /dev --proc /proc \
    bwrap --version | sed 's/^bubblewrap //'
}

bubblewrap_details() { printf '"executable":%s' "$(json_string "$(command -v bwrap)")"; }

bubblewrap_start() { [[ -n $(bubblewrap_version) ]] || give_up bubblewrap "the kernel does not allow its namespaces here"; }

bubblewrap_stop() { rm -rf "$BUBBLEWRAP"; }
