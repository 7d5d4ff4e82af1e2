# shellcheck shell=bash
# zsh and fish, whose completion is tested, and tmux, in which the chat is tested. Tests start them themselves, so this part has no
# process.

shells_needs() { echo zsh=zsh fish=fish tmux=tmux; }

SHELLS_FOLDER=$FOLDER/shells

shells_version() {
  printf '%s, %s, %s' "$(zsh --version | cut -d ' ' -f 1-2)" "$(fish --version | sed 's/, version//')" "$(tmux -V)"
}

shells_details() { printf '"tmux":%s' "$(json_string "$(command -v tmux)")"; }

shells_start() { [[ -n $(shells_version) ]] || give_up shells "zsh, fish or tmux does not run here"; }

shells_stop() { rm -rf "$SHELLS_FOLDER"; }
