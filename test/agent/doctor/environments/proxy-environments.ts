/** Proxies that are needed, absent, closed, or that look into what passes. */
import { createServer } from 'node:http';
import { makeAuthority } from '../../../support/certificates.ts';
import { proxyServer } from '../../../support/proxy-server.ts';
import { anywhere, inLab, slow, type Making } from './environment.ts';
import { far } from './office.ts';
import { listening, placed } from './places.ts';
import { secureControlPlane } from './secure-control-plane.ts';

type Behaviour = Parameters<typeof proxyServer>[0];

/** An https control plane behind a proxy. */
const behind = (behaviour: Behaviour | (() => Promise<Behaviour>), login = ''): Making =>
  anywhere(async (ground) => {
    const { authority } = await secureControlPlane(ground);
    ground.settings['NODE_EXTRA_CA_CERTS'] = ground.file('authority.pem', authority.cert);
    const proxy = ground.stack.use(
      await proxyServer(typeof behaviour === 'function' ? await behaviour() : behaviour),
    );
    ground.settings['HTTPS_PROXY'] = `http://${login}127.0.0.1:${proxy.port}`;
  });

const inOffice = (url: string, settings: Record<string, string> = {}): Making =>
  inLab(async (ground) => {
    await placed(ground, url);
    Object.assign(ground.settings, settings);
  });

const credentials = 'agent:secret';

export const proxyEnvironments: Readonly<Record<string, Making>> = {
  'a proxy is needed and none is set': slow(inOffice('https://dropped.example')),
  'the proxy is behind a firewall that drops': slow(
    inOffice('https://cp.example', { HTTPS_PROXY: `http://${far.dropped}:3128` }),
  ),
  'the name of the proxy does not exist': slow(
    inOffice('https://cp.example', { HTTPS_PROXY: 'http://proxy.example:3128' }),
  ),
  'the proxy is down': anywhere(async ({ settings }) => {
    const proxy = await proxyServer();
    await proxy[Symbol.asyncDispose]();
    settings['HTTP_PROXY'] = proxy.url;
  }),
  'the proxy wants a login (Basic)': behind({ credentials }),
  'the login for the proxy is wrong': slow(behind({ credentials }, 'agent:other@')),
  'the proxy offers only NTLM and Negotiate': slow(
    behind({ credentials, offers: ['Negotiate', 'NTLM'] }),
  ),
  'the proxy does not allow the host of the control plane': slow(behind({ refusesWith: 403 })),
  'the proxy itself cannot reach the control plane': slow(behind({ refusesWith: 503 })),
  'what HTTPS_PROXY names is a web server': slow(
    anywhere(async (ground) => {
      const web = createServer().on('connect', (_request, socket) => {
        socket.end('HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n');
      });
      const port = await listening(ground, web);
      ground.settings['CONTROL_PLANE_URL'] = 'https://127.0.0.1:1';
      ground.settings['HTTPS_PROXY'] = `http://127.0.0.1:${port}`;
    }),
  ),
  'NO_PROXY keeps the agent from the proxy it needs': slow(
    inOffice('https://dropped.example', {
      ...{ HTTPS_PROXY: `http://${far.controlPlane}:3000`, NO_PROXY: 'localhost,.example' },
    }),
  ),
  'the proxy reads TLS, and its authority is not given': behind(async () => {
    const corporate = await makeAuthority('Corporate proxy authority');
    return { intercept: (host) => corporate.issue({ host, validForDays: 30 }) };
  }),
};
