/**
 * Where this browser never goes: schemes other than http and https, and the addresses
 * at which clouds hand credentials to their machines. Private networks are allowed: what is
 * monitored lives there.
 */
'use strict';
const { lookup } = require('node:dns/promises');
const { BlockList, isIP } = require('node:net');
const { problem } = require('./problem.cjs');

const metadata = new BlockList();
metadata.addSubnet('169.254.0.0', 16, 'ipv4');
metadata.addAddress('100.100.100.200', 'ipv4');
metadata.addAddress('168.63.129.16', 'ipv4');
metadata.addAddress('192.0.0.192', 'ipv4');
metadata.addAddress('fd00:ec2::254', 'ipv6');
metadata.addSubnet('fe80::', 10, 'ipv6');

const metadataNames = ['metadata.google.internal', 'metadata.goog', 'instance-data'];

/** Makes the browser itself find nothing there, also when a page redirects to it. */
const resolverRules = [
  ...metadataNames,
  '169.254.*',
  '100.100.100.200',
  '168.63.129.16',
  '192.0.0.192',
  '[fd00:ec2::254]',
]
  .map((host) => `MAP ${host} ~NOTFOUND`)
  .join(', ');

function isMetadataAddress(address) {
  const plain = address.replace(/^\[|\]$/g, '').replace(/^::ffff:(?=\d+\.)/i, '');
  const family = isIP(plain);
  return family !== 0 && metadata.check(plain, family === 4 ? 'ipv4' : 'ipv6');
}

function refusalOf(url) {
  if (!URL.canParse(url)) return 'it is not a full URL such as https://shop.example/';
  const { protocol, hostname } = new URL(url);
  if (protocol !== 'http:' && protocol !== 'https:') {
    return 'only http and https pages can be opened';
  }
  const host = hostname.replace(/\.$/, '').toLowerCase();
  if (metadataNames.includes(host) || isMetadataAddress(host)) {
    return 'addresses of cloud metadata services cannot be opened';
  }
  return null;
}

/** Throws when a URL must not be opened. A name that leads to a forbidden address is refused too. */
async function requireAllowed(url) {
  const refusal = refusalOf(url);
  if (refusal !== null) throw problem('REFUSED', `${url} was refused: ${refusal}`);
  const found = await lookup(new URL(url).hostname.replace(/^\[|\]$/g, ''), { all: true }).catch(
    () => [],
  );
  if (found.some(({ address }) => isMetadataAddress(address))) {
    throw problem('REFUSED', `${url} was refused: its name leads to a cloud metadata service`);
  }
}

module.exports = { isMetadataAddress, refusalOf, requireAllowed, resolverRules };
