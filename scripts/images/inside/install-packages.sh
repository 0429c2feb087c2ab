#!/bin/sh
# Installs what one workspace needs at run time, from the one lock file, while an image is built.
#
#   install-packages.sh WORKSPACE [OPTION OF NPM ...]
#
# The other workspaces and the tools of development are taken out of the manifest first: npm would
# otherwise install what an omitted package shares with them. Build secrets that are looked for: "ca"
# (authorities in PEM) and "npmrc" (a registry of your own, with its login).
set -eu
workspace=$1
shift
[ -s /run/secrets/ca ] && export NODE_EXTRA_CA_CERTS=/run/secrets/ca
[ -s /run/secrets/npmrc ] && export npm_config_userconfig=/run/secrets/npmrc
npm pkg delete devDependencies
npm pkg set --json workspaces="[\"shared\",\"$workspace\"]"
npm ci --omit=dev "$@" --workspace "$workspace" --ignore-scripts --no-audit --no-fund \
  --no-update-notifier
rm package.json package-lock.json
