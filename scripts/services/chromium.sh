# shellcheck shell=bash
# Chromium. Tests start it themselves, so this part has no process.

chromium_needs() { echo chromium=chromium; }

CHROMIUM=$FOLDER/chromium

chromium_version() { timeout 20 chromium --version | sed 's/^Chromium \([^ ]*\).*/\1/'; }

chromium_details() { printf '"executable":%s' "$(json_string "$(command -v chromium)")"; }

chromium_start() { chromium_version; }

chromium_stop() { rm -rf "$CHROMIUM"; }
