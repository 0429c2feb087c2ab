#!/bin/sh
# Installs Debian packages while an image is built, with what is already there brought up to date.
# What only an installation needs is gone afterwards, and so is every way to become another user.
#
#   install-debian.sh PACKAGE ...
#
# `dpkg-excludes` stands beside it. A CA for package mirrors behind an intercepting proxy may be the build secret "ca".
set -eu
export DEBIAN_FRONTEND=noninteractive
ca=/run/secrets/ca
authorities=Acquire::Languages=none
[ -s "$ca" ] && authorities=Acquire::https::CAInfo=$ca
cp "$(dirname "$0")/dpkg-excludes" /etc/dpkg/dpkg.cfg.d/container
apt-get -o "$authorities" update
# An image may be built on one from which perl was removed.
apt-get -o "$authorities" --fix-broken install --yes --no-install-recommends
apt-get -o "$authorities" upgrade --yes
apt-get -o "$authorities" install --yes --no-install-recommends "$@"
apt-get clean
rm -rf /var/lib/apt/lists/* /var/cache/debconf/*-old /var/cache/ldconfig /var/log/*.log \
  /var/log/apt /var/lib/dpkg/*-old /usr/share/man/* /usr/share/info/* \
  /usr/share/lintian /usr/share/locale/*
find /usr/share/doc -type f ! -name copyright -delete
find / -xdev -type f -perm /6000 -exec chmod a-s {} +
