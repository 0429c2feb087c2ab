import assert from 'node:assert/strict';
import test from 'node:test';
import { obstacleIn } from '../../../../agent/runners/playwright/install-failure.ts';

const kindOf = (stderr: string, stdout = '') => obstacleIn({ stdout, stderr })?.kind ?? null;

for (const [kind, text] of [
  ['network', 'npm error code ECONNREFUSED\nnpm error syscall connect'],
  ['network', 'npm warn old lockfile\nnpm error code ENOTFOUND\nnpm error syscall getaddrinfo'],
  ['network', 'npm error code ERR_SOCKET_TIMEOUT'],
  ['network', 'npm error code E503\nnpm error 503 Service Unavailable - GET http://r/a'],
  ['network', 'npm error code E407\nnpm error 407 Proxy Authentication Required - GET http://r/a'],
  [
    'network',
    ' ERR_PNPM_META_FETCH_FAIL  GET http://r/a: request to http://r/a failed, reason: getaddrinfo ENOTFOUND r',
  ],
  ['network', ' ERR_PNPM_FETCH_503  GET http://r/a: Service Unavailable - 503'],
  ['network', 'error Error: connect ECONNREFUSED 127.0.0.1:9\n    at TCPConnectWrap'],
  ['network', 'info There appears to be trouble with your network connection. Retrying...'],
  ['network', '➤ YN0001: │ RequestError: getaddrinfo ENOTFOUND nope.invalid\n    at Client'],
  [
    'network',
    '➤ YN0035: │ a@npm:1: The registry appears to be down\n➤ YN0035: │   Response Code: 503 (Service Unavailable)',
  ],
  [
    'network',
    'error: ConnectionRefused downloading package manifest a\nerror: a failed to resolve',
  ],
  ['network', 'error: DNSResolveFailed downloading package manifest a'],
  ['network', 'error: GET http://r/a - 503\nerror: a@1.0.0 failed to resolve'],
  ['certificate', 'npm error code DEPTH_ZERO_SELF_SIGNED_CERT'],
  ['certificate', 'npm error code UNABLE_TO_GET_ISSUER_CERT_LOCALLY'],
  ['certificate', ' ERR_PNPM_META_FETCH_FAIL  GET https://r/a: reason: self-signed certificate'],
  ['certificate', 'error Error: self-signed certificate\n    at TLSSocket.onConnectSecure'],
  ['certificate', '➤ YN0001: │ RequestError: self-signed certificate'],
  ['certificate', 'error: DEPTH_ZERO_SELF_SIGNED_CERT downloading package manifest a'],
  ['disk', 'npm error code ENOSPC\nnpm error nospc ENOSPC: no space left on device, write'],
  ['disk', 'error An unexpected error occurred: "ENOSPC: no space left on device, mkdir \'/x\'".'],
  [null, 'npm error code E404\nnpm error 404 Not Found - GET http://r/a'],
  [null, 'npm error code E401\nnpm error 401 Unauthorized - GET http://r/a'],
  [null, 'npm error code ETARGET\nnpm error notarget No matching version found for a@9.'],
  [null, 'npm error code EUSAGE\nnpm error `npm ci` can only install packages when your package'],
  [null, 'npm error code 3\nnpm error command failed\nnpm error connect ECONNREFUSED 127.0.0.1:80'],
  [null, ' ERR_PNPM_FETCH_404  GET http://r/a: Not Found - 404'],
  [null, ' ERR_PNPM_OUTDATED_LOCKFILE  Cannot install with "frozen-lockfile"'],
  [null, 'y postinstall: connect ECONNREFUSED\n ELIFECYCLE  Command failed with exit code 3.'],
  [null, 'error Couldn\'t find package "a" on the "npm" registry.'],
  [null, 'error Your lockfile needs to be updated, but yarn was run with `--frozen-lockfile`.'],
  [null, 'error /x/y: Command failed.\nerror Command failed.\nconnect ECONNREFUSED'],
  [null, '➤ YN0035: │ a@npm:1: Package not found\n➤ YN0035: │   Response Code: 404 (Not Found)'],
  [null, '➤ YN0028: │ The lockfile would have been modified by this install'],
  [null, 'error: GET http://r/a - 404\nerror: a@1.0.0 failed to resolve'],
  [null, 'error: lockfile had changes, but lockfile is frozen'],
  [null, 'my own script: connect ECONNREFUSED 10.0.0.1:5432'],
  [null, ''],
] as const) {
  test(`${kind ?? 'the suite'}: ${text.split('\n')[0]?.trim() || 'nothing said'}`, () => {
    assert.equal(kindOf(text), kind);
    assert.equal(kindOf('', text), kind, 'also where it is written to the other stream');
    assert.equal(kindOf(`\u001b[31m${text}\u001b[39m`), kind, 'in colour');
  });
}
