/** Names, routes, firewalls and servers that are not what they should be. */
import { createServer } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import type { Environment, Ground } from './environment.ts';
import { far, type Place } from './office.ts';
import { listening, placed } from './places.ts';

const link = 'http://cp.example:3000';

/** Nobody has the address of the gateway any more. */
async function loseGateway(
  { office }: Ground,
  { host, device, gateway, farDevice }: Place,
): Promise<void> {
  // The kernel asks three times: within 0.3 s instead of 3.
  await host.sysctl(`net.ipv4.neigh.${device}.retrans_time_ms`, '100');
  await office?.farHost.ip('addr', 'del', `${gateway}/24`, 'dev', farDevice);
}

/** A cable whose far end takes smaller packets than it promises, and nobody is told. */
async function blackHole(ground: Ground, mtu: number): Promise<void> {
  const { host, device, farDevice, network } = await placed(ground, link);
  await ground.office?.farHost.ipBatch([
    `link set ${farDevice} mtu ${mtu}`,
    `route replace ${network}.0/24 dev ${farDevice} advmss 1460`,
  ]);
  // Packets go one by one, as they do on a wire: cables of the lab let bundles of any size pass.
  await host.ip('link', 'set', device, 'gso_max_segs', '1');
}

export const networkEnvironments: readonly Environment[] = [
  {
    name: 'the name server is behind a firewall that drops',
    from: '7b',
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
    name: 'a DNS filter leads the name to nowhere (0.0.0.0 and ::)',
    needs: 'lab',
    first: { id: 'dns', verdict: 'fail' },
    evidence: ['filtered.example', '10.80.0.2: 0.0.0.0, ::', 'DNS filter (sinkhole)'],
    fix: ['ask the keeper of the DNS server 10.80.0.2 to exempt filtered.example'],
    make: async (ground) => {
      await placed(ground, 'http://filtered.example:3000');
    },
  },
  {
    name: 'a DNS filter leads the name back to this machine (127.0.0.1 and ::1)',
    needs: 'lab',
    isSlow: true,
    first: { id: 'dns', verdict: 'fail' },
    evidence: ['led-back.example', 'this machine itself, and nothing listens here'],
    fix: ['exempt led-back.example from its filter'],
    make: async (ground) => {
      await placed(ground, 'http://led-back.example:3000');
    },
  },
  {
    name: 'a line of /etc/hosts blocks the control plane',
    needs: 'root',
    isSlow: true,
    first: { id: 'dns', verdict: 'fail' },
    evidence: ['0.0.0.0', 'a line of /etc/hosts'],
    fix: ['remove the line with cp.example from /etc/hosts'],
    make: (ground) => {
      ground.settings['CONTROL_PLANE_URL'] = 'http://cp.example:3000';
      ground.expected.add('settings');
      const hosts = ground.file('hosts', '127.0.0.1 localhost\n0.0.0.0 cp.example\n');
      ground.withMounts(`mount --bind ${hosts} /etc/hosts`);
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
    name: 'the default gateway is dead',
    needs: 'lab',
    first: { id: 'route', verdict: 'fail' },
    evidence: ['its gateway 10.81.', 'answers no ARP request'],
    fix: ['see whether the gateway is up', 'ip neigh show 10.81.'],
    make: async (ground) => {
      const place = await placed(ground, `http://${far.controlPlane}:3000`);
      await loseGateway(ground, place);
    },
  },
  {
    name: 'the default gateway is dead, and the name server behind it',
    needs: 'lab',
    isSlow: true,
    first: { id: 'dns', verdict: 'fail' },
    evidence: ['has no address: its gateway 10.81.', 'answers no ARP request'],
    fix: ['see whether the gateway is up'],
    make: async (ground) => {
      await loseGateway(ground, await placed(ground, link));
    },
  },
  {
    name: 'the cable is pulled out and the address stays',
    needs: 'lab',
    isSlow: true,
    first: { id: 'route', verdict: 'fail' },
    evidence: ['has no link (no carrier)'],
    fix: ['cable, switch port or virtual network'],
    make: async (ground) => {
      const { farDevice } = await placed(ground, `http://${far.controlPlane}:3000`);
      await ground.office?.farHost.ip('link', 'set', farDevice, 'down');
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
    from: '7c',
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
    isSlow: true,
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
    name: 'packets that are nearly full vanish on the way, as in a VPN (MTU black hole)',
    needs: 'lab',
    isSlow: true,
    first: { id: 'control-plane', verdict: 'fail' },
    evidence: ['answers a check-in and small requests', 'large packets vanish on the way (MTU)'],
    fix: ['fragmentation needed', 'ip link set DEVICE mtu 1400'],
    make: (ground) => blackHole(ground, 1_400),
  },
  {
    name: 'even packets of middle size vanish on the way (MTU black hole)',
    needs: 'lab',
    isSlow: true,
    first: { id: 'control-plane', verdict: 'fail' },
    evidence: ['neither a check-in within', 'large packets vanish on the way (MTU)'],
    fix: ['fragmentation needed'],
    make: (ground) => blackHole(ground, 300),
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
    isSlow: true,
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
    evidence: ['accepts the connection and does not answer within'],
    fix: ['overloaded or stuck'],
    make: async (ground) => {
      await listening(
        ground,
        createTcpServer((socket) => socket.on('error', () => undefined).resume()),
      );
    },
  },
  {
    name: 'the control plane is up, and stuck where agents check in',
    needs: 'nothing',
    isSlow: true,
    first: { id: 'control-plane', verdict: 'fail' },
    evidence: ['answers other requests, and not a check-in within'],
    fix: ['its database'],
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
    isSlow: true,
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
    isSlow: true,
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
