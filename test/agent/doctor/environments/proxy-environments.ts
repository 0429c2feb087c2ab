/** Proxies that are needed, absent, closed, or that look into what passes. */
import { createServer } from 'node:http';
import { makeAuthority } from '../../../support/certificates.ts';
import { proxyServer } from '../../../support/proxy-server.ts';
import type { Environment, Ground } from './environment.ts';
import { far } from './office.ts';
import { listening, placed } from './places.ts';
import { secureControlPlane } from './secure-control-plane.ts';

/** An https control plane behind a proxy. */
async function behind(
  ground: Ground,
  behaviour: Parameters<typeof proxyServer>[0],
): Promise<{ port: number }> {
  const { authority } = await secureControlPlane(ground);
  ground.settings['NODE_EXTRA_CA_CERTS'] = ground.file('authority.pem', authority.cert);
  const proxy = ground.stack.use(await proxyServer(behaviour));
  ground.settings['HTTPS_PROXY'] = `http://127.0.0.1:${proxy.port}`;
  return proxy;
}

export const proxyEnvironments: readonly Environment[] = [
  {
    name: 'a proxy is needed and none is set',
    needs: 'lab',
    isSlow: true,
    first: { id: 'connect', verdict: 'fail' },
    evidence: ['dropped silently', 'HTTPS_PROXY is not set'],
    fix: ['set HTTPS_PROXY'],
    make: async (ground) => {
      await placed(ground, `https://dropped.example`);
    },
  },
  {
    name: 'the proxy is behind a firewall that drops',
    needs: 'lab',
    isSlow: true,
    first: { id: 'proxy', verdict: 'fail' },
    evidence: ['10.80.0.9:3128 does not answer'],
    fix: ['allow TCP'],
    make: async (ground) => {
      await placed(ground, 'https://cp.example');
      ground.settings['HTTPS_PROXY'] = `http://${far.dropped}:3128`;
    },
  },
  {
    name: 'the name of the proxy does not exist',
    needs: 'lab',
    isSlow: true,
    first: { id: 'dns', verdict: 'fail' },
    evidence: ['proxy.example, the name of the proxy'],
    fix: ['correct the proxy setting'],
    make: async (ground) => {
      await placed(ground, 'https://cp.example');
      ground.settings['HTTPS_PROXY'] = 'http://proxy.example:3128';
    },
  },
  {
    name: 'the proxy is down',
    needs: 'nothing',
    first: { id: 'proxy', verdict: 'fail' },
    evidence: ['refuses the connection'],
    fix: ['start the proxy'],
    make: async (ground) => {
      const proxy = await proxyServer();
      await proxy[Symbol.asyncDispose]();
      ground.settings['HTTP_PROXY'] = proxy.url;
    },
  },
  {
    name: 'the proxy wants a login (Basic)',
    needs: 'nothing',
    first: { id: 'proxy', verdict: 'fail' },
    evidence: ['asks for credentials (407)'],
    fix: ['user:password@'],
    make: async (ground) => {
      await behind(ground, { credentials: 'agent:secret' });
    },
  },
  {
    name: 'the login for the proxy is wrong',
    needs: 'nothing',
    isSlow: true,
    first: { id: 'proxy', verdict: 'fail' },
    evidence: ['refuses the credentials (407)'],
    fix: ['correct user and password in HTTPS_PROXY'],
    make: async (ground) => {
      const { port } = await behind(ground, { credentials: 'agent:secret' });
      ground.settings['HTTPS_PROXY'] = `http://agent:other@127.0.0.1:${port}`;
    },
  },
  {
    name: 'the proxy offers only NTLM and Negotiate',
    needs: 'nothing',
    isSlow: true,
    first: { id: 'proxy', verdict: 'fail' },
    evidence: ['Negotiate or NTLM', 'can only do Basic'],
    fix: ['let the proxy accept Basic'],
    make: async (ground) => {
      await behind(ground, { credentials: 'agent:secret', offers: ['Negotiate', 'NTLM'] });
    },
  },
  {
    name: 'the proxy does not allow the host of the control plane',
    needs: 'nothing',
    first: { id: 'proxy', verdict: 'fail' },
    evidence: ['refuses the way to', '403'],
    fix: ['allow'],
    make: async (ground) => {
      await behind(ground, { refusesWith: 403 });
    },
  },
  {
    name: 'the proxy itself cannot reach the control plane',
    needs: 'nothing',
    isSlow: true,
    first: { id: 'connect', verdict: 'fail' },
    evidence: ['could not connect to', '503'],
    fix: ['NO_PROXY'],
    make: async (ground) => {
      await behind(ground, { refusesWith: 503 });
    },
  },
  {
    name: 'what HTTPS_PROXY names is a web server',
    needs: 'nothing',
    isSlow: true,
    first: { id: 'proxy', verdict: 'fail' },
    evidence: ['a web server rather than a proxy'],
    fix: ['correct HTTPS_PROXY'],
    make: async (ground) => {
      const web = createServer().on('connect', (_request, socket) => {
        socket.end('HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n');
      });
      const port = await listening(ground, web);
      ground.settings['CONTROL_PLANE_URL'] = 'https://127.0.0.1:1';
      ground.settings['HTTPS_PROXY'] = `http://127.0.0.1:${port}`;
    },
  },
  {
    name: 'NO_PROXY keeps the agent from the proxy it needs',
    needs: 'lab',
    isSlow: true,
    first: { id: 'connect', verdict: 'fail' },
    evidence: ['NO_PROXY has ".example"'],
    fix: ['take that entry out of NO_PROXY'],
    make: async (ground) => {
      await placed(ground, 'https://dropped.example');
      ground.settings['HTTPS_PROXY'] = `http://${far.controlPlane}:3000`;
      ground.settings['NO_PROXY'] = 'localhost,.example';
    },
  },
  {
    name: 'the proxy reads TLS, and its authority is not given',
    needs: 'nothing',
    first: { id: 'tls', verdict: 'fail' },
    evidence: ['Corporate proxy authority', 'intercepts TLS'],
    fix: ['NODE_EXTRA_CA_CERTS'],
    make: async (ground) => {
      const corporate = await makeAuthority('Corporate proxy authority');
      await behind(ground, { intercept: (host) => corporate.issue({ host, validForDays: 30 }) });
    },
  },
];
