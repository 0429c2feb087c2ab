import assert from 'node:assert/strict';
import test from 'node:test';
import {
  certificateTargetOf,
  domainOf,
} from '../../../../control-plane/checks/decide/certificate-target.ts';
import { checkTypes, type CheckType } from '@monitor/shared/contract/checks/index.ts';

function target(type: CheckType, url: unknown, sslCheckDomain: unknown = null): string | null {
  const found = certificateTargetOf(checkTypes[type], { request: { url }, sslCheckDomain });
  return found === null ? null : `${found.host} ${found.port} ${found.servername ?? '-'}`;
}

test('URL monitors and API checks are watched by their address', () => {
  for (const type of ['URL', 'API'] as const) {
    assert.equal(target(type, 'https://shop.example/a?b=c'), 'shop.example 443 shop.example');
    assert.equal(target(type, 'HTTPS://me:pw@Shop.Example:8443'), 'shop.example 8443 shop.example');
    assert.equal(target(type, 'https://shop.example./'), 'shop.example 443 shop.example');
    assert.equal(target(type, 'https://10.0.0.1:8443/'), '10.0.0.1 8443 -');
    assert.equal(target(type, 'https://[2001:db8::1]/'), '2001:db8::1 443 -');
    assert.equal(target(type, 'https://shop.example/{{PATH}}'), 'shop.example 443 shop.example');
    assert.equal(
      target(type, 'https://bücher.example/'),
      'xn--bcher-kva.example 443 xn--bcher-kva.example',
    );
  }
});

test('where the address does not tell, nothing is watched unless a domain is named', () => {
  for (const url of [
    'http://shop.example',
    'https://{{HOST}}/',
    'https://shop.example:{{PORT}}/',
    '{{URL}}',
    'https://',
    `https://${'a.'.repeat(127)}example/`,
    undefined,
  ]) {
    assert.equal(target('URL', url), null, url);
    assert.equal(target('URL', url, 'b.example'), 'b.example 443 b.example', url);
  }
  assert.equal(target('URL', 'https://a.example', 'b.example'), 'a.example 443 a.example');
});

test('every other type is watched by the domain it names, with or without a port', () => {
  assert.equal(target('BROWSER', undefined, 'b.example'), 'b.example 443 b.example');
  assert.equal(target('TCP', undefined, ' Mail.Example:465 '), 'mail.example 465 mail.example');
  assert.equal(target('ICMP', undefined, '[2001:db8::1]:8443'), '2001:db8::1 8443 -');
  assert.equal(target('DNS', undefined, '192.0.2.1'), '192.0.2.1 443 -');
  for (const nothing of ['', null, undefined, 7, 'a b', 'https://a.example', 'a.example:0']) {
    assert.equal(target('BROWSER', undefined, nothing), null, String(nothing));
  }
  assert.equal(certificateTargetOf(checkTypes.HEARTBEAT, {}), null);
});

test('the name of a target is its host, with the port unless it is 443', () => {
  assert.equal(domainOf({ host: 'a.example', port: 443 }), 'a.example');
  assert.equal(domainOf({ host: 'a.example', port: 8443 }), 'a.example:8443');
  assert.equal(domainOf({ host: '2001:db8::1', port: 8443 }), '[2001:db8::1]:8443');
});

test('an SSL monitor is watched by the server that it connects to, under the name that it asks for', () => {
  const watched = (sslConfig: Record<string, unknown>) =>
    certificateTargetOf(checkTypes.SSL, { request: { sslConfig: { port: 443, ...sslConfig } } });
  assert.deepEqual(watched({ hostname: 'Shop.example', port: 8443 }), {
    ...{ host: 'shop.example', port: 8443, servername: 'shop.example' },
  });
  assert.deepEqual(watched({ hostname: '10.0.0.1', serverName: 'Shop.example' }), {
    ...{ host: '10.0.0.1', port: 443, servername: 'shop.example' },
  });
  assert.deepEqual(watched({ hostname: '[2001:db8::1]', serverName: '10.0.0.1' }), {
    ...{ host: '2001:db8::1', port: 443, servername: null },
  });
});
