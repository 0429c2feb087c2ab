#!/bin/sh
# Makes the base image for machines that reach no image registry: Debian's own packages, and Node from npm.
#
#   base-image.sh NAME NODE_VERSION SUITE ARCH
#
# npm and its package come from this machine; buildah finds its settings in the environment.
set -eu
name=$1 version=$2 suite=$3 arch=$4
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
security=${DEBIAN_SECURITY_MIRROR:-http://deb.debian.org/debian-security}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
if [ "$arch" = "$(dpkg --print-architecture)" ]; then
  debootstrap --variant=minbase "--arch=$arch" "$suite" "$root" "$mirror" > /dev/null
else
  # It is set up by its own programs: the kernel must know who runs them.
  debootstrap --foreign --variant=minbase "--arch=$arch" "$suite" "$root" "$mirror" > /dev/null
  chroot "$root" /debootstrap/debootstrap --second-stage > /dev/null
fi
cat > "$root/etc/apt/sources.list" <<END
deb $mirror $suite main
deb $mirror $suite-updates main
deb $security $suite-security main
END
rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/* "$root"/usr/share/man/* \
  "$root"/usr/share/locale/* "$root"/var/log/* "$root"/dev/* "$root"/etc/resolv.conf "$root"/etc/hostname

# Asked for by name: npm would refuse a package for another machine.
package=node-linux-$(echo "$arch" | sed s/amd64/x64/)
(cd "$work" && npm install --force --no-save --ignore-scripts "$package@$version" > /dev/null)
local=$root/usr/local
cp "$work/node_modules/$package/bin/node" "$local/bin/node"
cp -r "$work/node_modules/$package/include" "$local/"
mkdir -p "$local/lib/node_modules"
npm=$(realpath "${npm_execpath:-$(command -v npm)}")
cp -r "${npm%/bin/*}" "$local/lib/node_modules/npm"
for program in npm npx; do ln -s "../lib/node_modules/npm/bin/$program-cli.js" "$local/bin/$program"; done

container=$(buildah from --arch "$arch" scratch)
buildah add --quiet "$container" "$root" / > /dev/null
buildah config --arch "$arch" --env "NODE_VERSION=$version" \
  --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$container"
buildah commit --quiet --rm "$container" "$name" > /dev/null
