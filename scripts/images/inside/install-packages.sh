#!/bin/sh
# Installs what one workspace needs, from the one lock file, while an image is built.
#
#   install-packages.sh WORKSPACE [--with TOOL] ... [--without PACKAGE] ... [OPTION OF NPM ...]
#
# The other workspaces, the tools of development but each TOOL, and each optional PACKAGE are taken out of the
# manifests first: npm would otherwise install what an omitted package shares with them. Build secrets
# that are looked for: "ca" (authorities in PEM) and "npmrc" (a registry of your own, with its login).
set -eu
workspace=$1
shift
[ -s /run/secrets/ca ] && export NODE_EXTRA_CA_CERTS=/run/secrets/ca
[ -s /run/secrets/npmrc ] && export npm_config_userconfig=/run/secrets/npmrc
tools=
while [ "${1:-}" = --with ]; do
  tools="$tools $2=$(npm pkg get "devDependencies[$2]" | tr -d '"')"
  shift 2
done
npm pkg delete devDependencies optionalDependencies
for tool in $tools; do npm pkg set "dependencies[${tool%%=*}]=${tool#*=}"; done
while [ "${1:-}" = --without ]; do
  npm pkg delete --workspace "$workspace" "optionalDependencies[$2]"
  shift 2
done
# The manifest of a bundle needs nothing of the shared folder.
grep -q '"@monitor/shared"' "$workspace/package.json" && shared='"shared",' || shared=
npm pkg set --json workspaces="[$shared\"$workspace\"]"
npm ci --omit=dev "$@" --workspace "$workspace" ${tools:+--include-workspace-root} --ignore-scripts \
  --no-audit --no-fund --no-update-notifier
rm package.json package-lock.json
