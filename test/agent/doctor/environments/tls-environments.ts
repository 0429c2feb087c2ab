/** Certificates, authorities, protocols and clocks. */
import { createServer } from 'node:net';
import { makeAuthority, selfSigned } from '../../../support/certificates.ts';
import { anywhere, slow, type Making } from './environment.ts';
import { listening } from './places.ts';
import { secureControlPlane, type Wish } from './secure-control-plane.ts';

const hourMs = 3_600_000;
const authorities = 'NODE_EXTRA_CA_CERTS';

/** The authority of the control plane is given, after others. */
const trusting = (
  wish: Wish | (() => Promise<Wish>),
  more: Pick<Making, 'from' | 'agent'> = {},
  ...others: [name: string, validForDays?: number][]
): Making =>
  anywhere(async (ground) => {
    const { authority } = await secureControlPlane(
      ground,
      typeof wish === 'function' ? await wish() : wish,
    );
    const all = await Promise.all(others.map((other) => makeAuthority(...other)));
    const bundle = [...all, authority].map(({ cert }) => cert).join('\n');
    ground.settings[authorities] = ground.file('authorities.pem', bundle);
  }, more);

/** Nothing makes its authority known but what is said. */
const distrusting = (said: (ground: Parameters<Making['make']>[0]) => string | Promise<string>) =>
  anywhere(async (ground) => {
    await secureControlPlane(ground);
    ground.settings[authorities] = await said(ground);
  });

const expired: Wish = { certificate: (by) => by.issue({ host: 'localhost', validForDays: -3 }) };
const oldAuthority = async (): Promise<Wish> => ({
  authority: await makeAuthority('Company authority', -2),
});

const clockOff = (offsetMs: number, more: Pick<Making, 'from' | 'agent'> = {}): Making =>
  anywhere(({ controlPlane }) => {
    controlPlane.clockOffsetMs = offsetMs;
  }, more);
const tenMinutes = (side: 'behind' | 'ahead of'): Making =>
  clockOff((side === 'behind' ? 10 : -10) * 60_000, {
    from: 'W1',
    agent: {
      log: /clock differs from the control plane/,
      status: new RegExp(`the clock of this machine is \\d+ ms ${side} the control plane`),
    },
  });

export const tlsEnvironments: Readonly<Record<string, Making>> = {
  'the certificate of the control plane has expired': slow(
    trusting(expired, {
      from: 'W2',
      agent: {
        log: /the certificate of localhost:\d+ is expired.*renew it/,
        status: /not reached.*is expired/,
      },
    }),
  ),
  'the clock of this machine is ten days ahead, so certificates look expired': slow(
    trusting({
      ...{ ...expired, clockOffsetMs: -240 * hourMs },
    }),
  ),
  'the certificate is for another host': trusting({
    certificate: (by) => by.issue({ host: 'other.example', validForDays: 30 }),
  }),
  'the certificate is self-signed': slow(
    anywhere(async (ground) => {
      const certificate = () => selfSigned({ host: 'localhost', validForDays: 30 });
      await secureControlPlane(ground, { certificate });
    }),
  ),
  'NODE_EXTRA_CA_CERTS is not set, and the authority is a private one': slow(
    anywhere(async (ground) => {
      await secureControlPlane(ground);
    }),
  ),
  'NODE_EXTRA_CA_CERTS names a file that is not there': slow(
    distrusting(() => '/etc/ssl/nowhere.pem'),
  ),
  'NODE_EXTRA_CA_CERTS names a file that is not PEM': slow(
    distrusting((ground) => ground.file('authority.der', '0\u0082 binary')),
  ),
  'NODE_EXTRA_CA_CERTS has another authority than is needed': distrusting(async (ground) =>
    ground.file('authority.pem', (await makeAuthority('Last year authority')).cert),
  ),
  'the authority that is needed has expired in the file of NODE_EXTRA_CA_CERTS': slow(
    trusting(oldAuthority, {}, ['Another authority']),
  ),
  'an authority that is not needed has expired in the file of NODE_EXTRA_CA_CERTS': slow(
    trusting({}, {}, ['Last year authority', -30]),
  ),
  'all authorities in the file of NODE_EXTRA_CA_CERTS have expired': slow(trusting(oldAuthority)),
  'the server speaks nothing newer than TLS 1.1': slow(
    trusting(
      { tls: { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } },
      {
        from: 'W3',
        agent: {
          log: /no version or cipher of TLS in common.*speak TLS 1\.2 or later/,
          status: /not reached.*TLS in common/,
        },
      },
    ),
  ),
  'the server speaks TLS 1.2 alone, with a certificate of an authority that is given': slow(
    trusting(
      { tls: { maxVersion: 'TLSv1.2' } },
      { agent: { log: /"msg":"checked in"/, status: /"degraded": \[\]/ } },
    ),
  ),
  'https is set, and http is spoken on the port': slow(
    anywhere(({ settings, controlPlane }) => {
      settings['CONTROL_PLANE_URL'] = controlPlane.url.replace('http:', 'https:');
    }),
  ),
  'http is set, and https is spoken on the port': slow(
    anywhere(async (ground) => {
      const { port } = await secureControlPlane(ground);
      ground.settings['CONTROL_PLANE_URL'] = `http://127.0.0.1:${port}`;
    }),
  ),
  'the server wants a certificate of the agent': trusting({
    tls: { requestCert: true, rejectUnauthorized: true },
  }),
  'a firewall cuts the connection when it has seen the TLS greeting': slow(
    anywhere(async (ground) => {
      const firewall = createServer((socket) => {
        socket.on('error', () => undefined).once('data', () => socket.resetAndDestroy());
      });
      await listening(ground, firewall, { scheme: 'https' });
    }),
  ),
  'the clock of this machine is ten minutes behind the right time': tenMinutes('behind'),
  'the clock of this machine is ten minutes ahead of the right time': slow(tenMinutes('ahead of')),
  'the clock of this machine is an hour behind': slow(clockOff(hourMs)),
};
