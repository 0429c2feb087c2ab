#!/bin/sh
# Installs what one workspace needs at run time, from the one lock file, while an image is built.
#
#   install-packages.sh WORKSPACE [--without PACKAGE] ... [OPTION OF NPM ...]
#
# The other workspaces, the tools of development and each optional PACKAGE are taken out of the
# manifests first: npm would otherwise install what an omitted package shares with them. Build secrets that are looked for: "ca"
# (authorities in PEM) and "npmrc" (a registry of your own, with its login).
set -eu
workspace=$1
shift
[ -s /run/secrets/ca ] && export NODE_EXTRA_CA_CERTS=/run/secrets/ca
[ -s /run/secrets/npmrc ] && export npm_config_userconfig=/run/secrets/npmrc
npm pkg delete devDependencies
while [ "${1:-}" = --without ]; do
  npm pkg delete --workspace "$workspace" "optionalDependencies[$2]"
  shift 2
done
npm pkg set --json workspaces="[\"shared\",\"$workspace\"]"
npm ci --omit=dev "$@" --workspace "$workspace" --ignore-scripts --no-audit --no-fund \
  --no-update-notifier
rm package.json package-lock.json
