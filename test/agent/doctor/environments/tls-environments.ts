/** Certificates, authorities, protocols and clocks. */
import { createServer as createTcpServer } from 'node:net';
import { makeAuthority, selfSigned } from '../../../support/certificates.ts';
import type { Environment } from './environment.ts';
import { listening } from './places.ts';
import { secureControlPlane } from './secure-control-plane.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

export const tlsEnvironments: readonly Environment[] = [
  {
    name: 'the certificate of the control plane has expired',
    from: 'W2',
    needs: 'nothing',
    first: { id: 'tls', verdict: 'fail' },
    evidence: ['expired on'],
    fix: ['renew the certificate'],
    agent: {
      log: /the certificate of localhost:\d+ is expired.*renew it/,
      status: /not reached.*is expired/,
    },
    make: async (ground) => {
      const { authority } = await secureControlPlane(ground, {
        certificate: (by) => by.issue({ host: 'localhost', validForDays: -3 }),
      });
      ground.settings['NODE_EXTRA_CA_CERTS'] = ground.file('authority.pem', authority.cert);
    },
  },
  {
    name: 'the clock of this machine is ten days ahead, so certificates look expired',
    needs: 'nothing',
    first: { id: 'tls', verdict: 'fail' },
    evidence: ['the clock of this machine is wrong'],
    fix: ['NTP'],
    make: async (ground) => {
      const { authority } = await secureControlPlane(ground, {
        certificate: (by) => by.issue({ host: 'localhost', validForDays: -3 }),
        clockOffsetMs: -10 * dayMs,
      });
      ground.settings['NODE_EXTRA_CA_CERTS'] = ground.file('authority.pem', authority.cert);
    },
  },
  {
    name: 'the certificate is for another host',
    needs: 'nothing',
    first: { id: 'tls', verdict: 'fail' },
    evidence: ['not for localhost but for DNS:other.example'],
    fix: ['a name of the certificate'],
    make: async (ground) => {
      const { authority } = await secureControlPlane(ground, {
        certificate: (by) => by.issue({ host: 'other.example', validForDays: 30 }),
      });
      ground.settings['NODE_EXTRA_CA_CERTS'] = ground.file('authority.pem', authority.cert);
    },
  },
  {
    name: 'the certificate is self-signed',
    needs: 'nothing',
    first: { id: 'tls', verdict: 'fail' },
    evidence: ['signed itself'],
    fix: ['fingerprint'],
    make: async (ground) => {
      await secureControlPlane(ground, {
        certificate: () => selfSigned({ host: 'localhost', validForDays: 30 }),
      });
    },
  },
  {
    name: 'NODE_EXTRA_CA_CERTS is not set, and the authority is a private one',
    needs: 'nothing',
    isSlow: true,
    first: { id: 'tls', verdict: 'fail' },
    evidence: ['not known here: "CN=Company authority"'],
    fix: ['NODE_EXTRA_CA_CERTS is not set'],
    make: async (ground) => {
      await secureControlPlane(ground);
    },
  },
  {
    name: 'NODE_EXTRA_CA_CERTS names a file that is not there',
    needs: 'nothing',
    first: { id: 'tls', verdict: 'fail' },
    evidence: ['/etc/ssl/nowhere.pem, which does not exist'],
    fix: ['correct the path'],
    make: async (ground) => {
      await secureControlPlane(ground);
      ground.settings['NODE_EXTRA_CA_CERTS'] = '/etc/ssl/nowhere.pem';
    },
  },
  {
    name: 'NODE_EXTRA_CA_CERTS names a file that is not PEM',
    needs: 'nothing',
    isSlow: true,
    first: { id: 'tls', verdict: 'fail' },
    evidence: ['is not in PEM'],
    fix: ['openssl x509 -inform der'],
    make: async (ground) => {
      await secureControlPlane(ground);
      ground.settings['NODE_EXTRA_CA_CERTS'] = ground.file('authority.der', '0\u0082 binary');
    },
  },
  {
    name: 'NODE_EXTRA_CA_CERTS has another authority than is needed',
    needs: 'nothing',
    first: { id: 'tls', verdict: 'fail' },
    evidence: ['"CN=Company authority"'],
    fix: ['has CN=Last year authority'],
    make: async (ground) => {
      await secureControlPlane(ground);
      const other = await makeAuthority('Last year authority');
      ground.settings['NODE_EXTRA_CA_CERTS'] = ground.file('authority.pem', other.cert);
    },
  },
  {
    name: 'the authority that is needed has expired in the file of NODE_EXTRA_CA_CERTS',
    needs: 'nothing',
    isSlow: true,
    first: { id: 'tls', verdict: 'fail' },
    evidence: ['authority "CN=Company authority"', 'expired on'],
    fix: ['ask for the successor of "CN=Company authority"'],
    make: async (ground) => {
      const { authority } = await secureControlPlane(ground, {
        authority: await makeAuthority('Company authority', -2),
      });
      const other = await makeAuthority('Another authority');
      const bundle = `${other.cert}\n${authority.cert}`;
      ground.settings['NODE_EXTRA_CA_CERTS'] = ground.file('authorities.pem', bundle);
    },
  },
  {
    name: 'an authority that is not needed has expired in the file of NODE_EXTRA_CA_CERTS',
    needs: 'nothing',
    isSlow: true,
    first: { id: 'tls', verdict: 'warn' },
    evidence: ['has authorities that have expired: CN=Last year authority'],
    fix: ['put their successors into the file'],
    make: async (ground) => {
      const { authority } = await secureControlPlane(ground);
      const old = await makeAuthority('Last year authority', -30);
      const bundle = `${old.cert}\n${authority.cert}`;
      ground.settings['NODE_EXTRA_CA_CERTS'] = ground.file('authorities.pem', bundle);
    },
  },
  {
    name: 'all authorities in the file of NODE_EXTRA_CA_CERTS have expired',
    needs: 'nothing',
    isSlow: true,
    first: { id: 'tls', verdict: 'fail' },
    evidence: ['has authorities that have expired: CN=Company authority', 'does not start'],
    fix: ['put their successors into the file'],
    make: async (ground) => {
      const { authority } = await secureControlPlane(ground, {
        authority: await makeAuthority('Company authority', -2),
      });
      ground.settings['NODE_EXTRA_CA_CERTS'] = ground.file('authorities.pem', authority.cert);
    },
  },
  {
    name: 'the server speaks nothing newer than TLS 1.1',
    from: 'W3',
    needs: 'nothing',
    first: { id: 'tls', verdict: 'fail' },
    evidence: ['no version or cipher of TLS in common'],
    fix: ['TLS 1.2 or later'],
    agent: {
      log: /no version or cipher of TLS in common.*speak TLS 1\.2 or later/,
      status: /not reached.*TLS in common/,
    },
    make: async (ground) => {
      const { authority } = await secureControlPlane(ground, {
        tls: { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' },
      });
      ground.settings['NODE_EXTRA_CA_CERTS'] = ground.file('authority.pem', authority.cert);
    },
  },
  {
    name: 'the server speaks TLS 1.2 alone, with a certificate of an authority that is given',
    needs: 'nothing',
    first: null,
    evidence: [],
    fix: [],
    agent: { log: /"msg":"checked in"/, status: /"degraded": \[\]/ },
    make: async (ground) => {
      const { authority } = await secureControlPlane(ground, { tls: { maxVersion: 'TLSv1.2' } });
      ground.settings['NODE_EXTRA_CA_CERTS'] = ground.file('authority.pem', authority.cert);
    },
  },
  {
    name: 'https is set, and http is spoken on the port',
    needs: 'nothing',
    isSlow: true,
    first: { id: 'tls', verdict: 'fail' },
    evidence: ['does not speak TLS'],
    fix: ['http://'],
    make: ({ settings, controlPlane }) => {
      settings['CONTROL_PLANE_URL'] = controlPlane.url.replace('http:', 'https:');
    },
  },
  {
    name: 'http is set, and https is spoken on the port',
    needs: 'nothing',
    first: { id: 'control-plane', verdict: 'fail' },
    evidence: ['cuts the connection instead of answering'],
    fix: ['speaks another protocol'],
    make: async (ground) => {
      const { port } = await secureControlPlane(ground);
      ground.settings['CONTROL_PLANE_URL'] = `http://127.0.0.1:${port}`;
    },
  },
  {
    name: 'the server wants a certificate of the agent',
    needs: 'nothing',
    first: { id: 'tls', verdict: 'fail' },
    evidence: ['wants a client certificate'],
    fix: ['let agents in without one'],
    make: async (ground) => {
      const { authority } = await secureControlPlane(ground, {
        tls: { requestCert: true, rejectUnauthorized: true },
      });
      ground.settings['NODE_EXTRA_CA_CERTS'] = ground.file('ca.pem', authority.cert);
    },
  },
  {
    name: 'a firewall cuts the connection when it has seen the TLS greeting',
    needs: 'nothing',
    isSlow: true,
    first: { id: 'tls', verdict: 'fail' },
    evidence: ['cuts the connection during the TLS handshake'],
    fix: ['allow TLS'],
    make: async (ground) => {
      const firewall = createTcpServer((socket) => {
        socket.on('error', () => undefined).once('data', () => socket.resetAndDestroy());
      });
      await listening(ground, firewall, { scheme: 'https' });
    },
  },
  ...(['behind', 'ahead of'] as const).map((side): Environment => ({
    name: `the clock of this machine is ten minutes ${side} the right time`,
    from: 'W1',
    needs: 'nothing',
    first: { id: 'clock', verdict: 'warn' },
    evidence: [`10 minutes ${side} that of the control plane`],
    fix: ['NTP'],
    agent: {
      log: /clock differs from the control plane/,
      status: new RegExp(`the clock of this machine is \\d+ ms ${side} the control plane`),
    },
    make: ({ controlPlane }) => {
      controlPlane.clockOffsetMs = (side === 'behind' ? 10 : -10) * 60_000;
    },
  })),
  {
    name: 'the clock of this machine is an hour behind',
    needs: 'nothing',
    first: { id: 'clock', verdict: 'warn' },
    evidence: ['behind that of the control plane'],
    fix: ['NTP'],
    make: ({ controlPlane }) => {
      controlPlane.clockOffsetMs = hourMs;
    },
  },
];
