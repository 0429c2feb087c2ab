/** Names, routes, firewalls and servers that are not what they should be. */
import { createServer } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import type { Environment } from './environment.ts';
import { far } from './office.ts';
import { listening, placed } from './places.ts';

const link = 'http://cp.example:3000';

export const networkEnvironments: readonly Environment[] = [
  {
    name: 'the name server is behind a firewall that drops',
    needs: 'lab',
    isSlow: true,
    first: { id: 'dns', verdict: 'fail' },
    evidence: ['no name server of /etc/resolv.conf answers', '10.80.0.9'],
    fix: ['port 53'],
    make: async (ground) => {
      const { host } = await placed(ground, link);
      await host.resolvConf(`nameserver ${far.dropped}\n`);
    },
  },
  {
    name: 'the name server refuses to answer this client',
    needs: 'lab',
    first: { id: 'dns', verdict: 'fail' },
    evidence: ['10.80.0.3: REFUSED'],
    fix: ['who may ask it'],
    make: async (ground) => {
      const { host } = await placed(ground, link);
      await host.resolvConf(`nameserver ${far.dnsThatRefuses}\n`);
    },
  },
  {
    name: 'the name server cannot reach the one it forwards to',
    needs: 'lab',
    isSlow: true,
    first: { id: 'dns', verdict: 'fail' },
    evidence: ['10.80.0.4: SERVFAIL'],
    fix: ['forwarding'],
    make: async (ground) => {
      const { host } = await placed(ground, link);
      await host.resolvConf(`nameserver ${far.dnsThatFails}\n`);
    },
  },
  {
    name: 'the first of two name servers is dead',
    needs: 'lab',
    isSlow: true,
    first: { id: 'dns', verdict: 'warn' },
    evidence: ['does not answer: 10.80.0.9'],
    fix: ['remove it from /etc/resolv.conf'],
    make: async (ground) => {
      const { host } = await placed(ground, link);
      await host.resolvConf(`nameserver ${far.dropped}\nnameserver ${far.dns}\n`);
    },
  },
  {
    name: 'there is no name server in /etc/resolv.conf',
    needs: 'lab',
    isSlow: true,
    first: { id: 'dns', verdict: 'fail' },
    evidence: ['/etc/resolv.conf names no server'],
    fix: ['nameserver 10.0.0.2'],
    make: async (ground) => {
      const { host } = await placed(ground, link);
      await host.resolvConf('# managed by nobody\n');
    },
  },
  {
    name: 'the name of the control plane does not exist',
    needs: 'lab',
    first: { id: 'dns', verdict: 'fail' },
    evidence: ['typo.example', 'does not exist for the DNS here', 'NXDOMAIN'],
    fix: ['correct CONTROL_PLANE_URL'],
    make: async (ground) => {
      await placed(ground, 'http://typo.example:3000');
    },
  },
  {
    name: 'the name has an IPv6 address only, and the host has no IPv6',
    needs: 'lab',
    first: { id: 'dns', verdict: 'fail' },
    evidence: ['fd80::2', 'IPv6 only'],
    fix: ['IPv4 address (A record)'],
    make: async (ground) => {
      await placed(ground, 'http://six.example:3000');
    },
  },
  {
    name: 'a DNS filter answers with 0.0.0.0',
    needs: 'lab',
    isSlow: true,
    first: { id: 'connect', verdict: 'fail' },
    evidence: ['0.0.0.0:3000'],
    fix: ['DNS filter'],
    make: async (ground) => {
      await placed(ground, 'http://filtered.example:3000');
    },
  },
  {
    name: 'an IPv6 address without an IPv6 route',
    needs: 'lab',
    isSlow: true,
    first: { id: 'ipv6', verdict: 'warn' },
    evidence: ['an IPv6 address and no route out'],
    fix: ['ip -6 route add default'],
    make: async (ground) => {
      const { host, device } = await placed(ground, link);
      await host.ip('addr', 'add', 'fd99::2/128', 'dev', device);
      await host.ip('-6', 'route', 'flush', 'dev', device);
    },
  },
  {
    name: 'IPv6 is switched off by a sysctl',
    needs: 'lab',
    first: { id: 'ipv6', verdict: 'warn' },
    evidence: ['net.ipv6.conf.all.disable_ipv6=1'],
    fix: ['only checks of IPv6 targets are affected'],
    make: async (ground) => {
      const { host } = await placed(ground, link);
      await host.sysctl('net.ipv6.conf.all.disable_ipv6', '1');
    },
  },
  {
    name: 'there is no default route',
    needs: 'lab',
    first: { id: 'route', verdict: 'fail' },
    evidence: ['there is no route to it'],
    fix: ['ip route add default via GATEWAY'],
    make: async (ground) => {
      await placed(ground, `http://${far.controlPlane}:3000`, { hasRoute: false });
    },
  },
  {
    name: 'a route of this host is a black hole',
    needs: 'lab',
    isSlow: true,
    first: { id: 'route', verdict: 'fail' },
    evidence: ['black hole'],
    fix: ['ip route get 10.80.0.2'],
    make: async (ground) => {
      const { host } = await placed(ground, `http://${far.controlPlane}:3000`);
      await host.ip('route', 'add', 'blackhole', far.controlPlane);
    },
  },
  {
    name: 'a firewall drops silently',
    needs: 'lab',
    isSlow: true,
    first: { id: 'connect', verdict: 'fail' },
    evidence: ['dropped silently'],
    fix: ['allow TCP from here to 10.80.0.9:3000'],
    make: async (ground) => {
      await placed(ground, `http://${far.dropped}:3000`);
    },
  },
  {
    name: 'a router says the host is unreachable',
    needs: 'lab',
    first: { id: 'connect', verdict: 'fail' },
    evidence: ['says the host cannot be reached'],
    fix: ['ip route get 10.80.0.10'],
    make: async (ground) => {
      await placed(ground, `http://${far.unreachable}:3000`);
    },
  },
  {
    name: 'a firewall rejects with "administratively prohibited"',
    needs: 'lab',
    isSlow: true,
    first: { id: 'connect', verdict: 'fail' },
    evidence: ['10.80.0.11:3000: a router'],
    fix: ['see whether the host is up'],
    make: async (ground) => {
      await placed(ground, `http://${far.prohibited}:3000`);
    },
  },
  {
    name: 'large packets vanish on the way (MTU black hole)',
    needs: 'lab',
    isSlow: true,
    first: { id: 'control-plane', verdict: 'fail' },
    evidence: ['large packets vanish on the way (MTU)'],
    fix: ['fragmentation needed'],
    make: async (ground) => {
      const place = await placed(ground, link);
      // The far end promises segments that its cable does not take, and nobody is told.
      await ground.office?.farHost.ipBatch([
        `link set ${place.farDevice} mtu 300`,
        `route replace ${place.network}.0/24 dev ${place.farDevice} advmss 1460`,
      ]);
    },
  },
  {
    name: 'nothing listens on the port',
    needs: 'nothing',
    first: { id: 'connect', verdict: 'fail' },
    evidence: ['refuses the connection', 'nothing listens'],
    fix: ['start the control plane'],
    make: async (ground) => {
      await ground.controlPlane.goOffline();
    },
  },
  {
    name: 'something resets each connection that asks',
    needs: 'nothing',
    first: { id: 'control-plane', verdict: 'fail' },
    evidence: ['cuts the connection instead of answering'],
    fix: ['what is in between'],
    make: async (ground) => {
      await listening(
        ground,
        createTcpServer((socket) =>
          socket.on('error', () => undefined).once('data', () => socket.resetAndDestroy()),
        ),
      );
    },
  },
  {
    name: 'the server accepts and says nothing',
    needs: 'nothing',
    isSlow: true,
    first: { id: 'control-plane', verdict: 'fail' },
    evidence: ['does not answer within'],
    fix: ['overloaded or stuck'],
    make: ({ controlPlane }) => {
      controlPlane.misbehave('all', { kind: 'silence' });
    },
  },
  {
    name: 'another protocol is spoken on the port (SSH)',
    needs: 'nothing',
    first: { id: 'control-plane', verdict: 'fail' },
    evidence: ['another protocol is spoken on that port'],
    fix: ['correct host and port'],
    make: async (ground) => {
      await listening(
        ground,
        createTcpServer((socket) => {
          socket.on('error', () => undefined).write('SSH-2.0-OpenSSH_9.2\r\n');
        }),
      );
    },
  },
  {
    name: 'a captive portal answers with its page',
    needs: 'nothing',
    first: { id: 'control-plane', verdict: 'fail' },
    evidence: ['"Guest network"', 'captive portal'],
    fix: ['sign in to the portal'],
    make: async (ground) => {
      await listening(
        ground,
        createServer((_request, response) => {
          response.writeHead(200, { 'content-type': 'text/html' });
          response.end('<html><title>Guest network</title>Please sign in</html>');
        }),
      );
    },
  },
  {
    name: 'a captive portal redirects to its login page',
    needs: 'nothing',
    first: { id: 'control-plane', verdict: 'fail' },
    evidence: ['redirects to http://portal.example/login'],
    fix: ['captive portal'],
    make: ({ controlPlane }) => {
      controlPlane.misbehave('all', {
        kind: 'status',
        status: 302,
        headers: { location: 'http://portal.example/login' },
      });
    },
  },
  {
    name: 'the address of the control plane has a path too much',
    needs: 'nothing',
    first: { id: 'control-plane', verdict: 'fail' },
    evidence: ['/v1/agent/check-in (404)'],
    fix: ['without a path'],
    make: ({ settings, controlPlane }) => {
      settings['CONTROL_PLANE_URL'] = `${controlPlane.url}/monitoring`;
    },
  },
  {
    name: 'the gateway before the control plane has nobody behind it (502)',
    needs: 'nothing',
    first: { id: 'control-plane', verdict: 'fail' },
    evidence: ['502'],
    fix: ['log of the control plane'],
    make: ({ controlPlane }) => {
      controlPlane.misbehave('all', { kind: 'status', status: 502 });
    },
  },
  {
    name: 'the control plane has an error of its own (500)',
    needs: 'nothing',
    isSlow: true,
    first: { id: 'control-plane', verdict: 'fail' },
    evidence: ['500'],
    fix: ['log of the control plane'],
    make: ({ controlPlane }) => {
      controlPlane.misbehave('all', { kind: 'status', status: 500 });
    },
  },
];
