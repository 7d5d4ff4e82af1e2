# shellcheck shell=bash
# Chromium; tests start it themselves, so no process runs here.

chromium_needs() { echo chromium=chromium; }

CHROMIUM=$FOLDER/chromium

chromium_version() { timeout 20 chromium --version | sed 's/^Chromium \([^ ]*\).*/\1/'; }

chromium_details() { printf '"executable":%s' "$(json_string "$(command -v chromium)")"; }

chromium_start() { chromium_version; }

chromium_stop() { rm -rf "$CHROMIUM"; }
