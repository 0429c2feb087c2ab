/**
 * The networks of the environments: one far host with the control plane and name servers, and a host
 * for each environment that is joined to it by a cable.
 */
import { once } from 'node:events';
import { serveIn } from '../../../support/lab-host.ts';
import { openNetworkLab, type LabHost, type NetworkLab } from '../../../support/network-lab.ts';
import { locationKey } from '../../../support/fake-control-plane.ts';

/** Addresses of the far host. */
export const far = {
  ...{ controlPlane: '10.80.0.2', dns: '10.80.0.2', dnsThatRefuses: '10.80.0.3' },
  dnsThatFails: '10.80.0.4',
  /** Packets to these are lost, or sent back, at the far host. */
  dropped: '10.80.0.9',
  ...{ unreachable: '10.80.0.10', prohibited: '10.80.0.11', ipv6: 'fd80::2' },
};

const zone = {
  ...{ 'cp.example': [far.controlPlane], 'six.example': [far.ipv6] },
  ...{ 'dropped.example': [far.dropped], 'filtered.example': ['0.0.0.0', '::'] },
  'led-back.example': ['127.0.0.1', '::1'],
};

export interface Place {
  host: LabHost;
  /** The device of this host, and the one at the far end. */
  device: string;
  farDevice: string;
  /** The address of the far end of the cable. */
  gateway: string;
  network: string;
}

export class Office implements AsyncDisposable {
  readonly #lab: NetworkLab;
  readonly farHost: LabHost;
  #places = 0;

  private constructor(lab: NetworkLab, farHost: LabHost) {
    this.#lab = lab;
    this.farHost = farHost;
  }

  static async open(): Promise<Office> {
    const lab = openNetworkLab();
    const host = await lab.host('far', { isRouter: true });
    await host.ipBatch([
      ...[far.controlPlane, far.dnsThatRefuses, far.dnsThatFails].map(
        (address) => `addr add ${address}/32 dev lo`,
      ),
      `addr add ${far.ipv6}/128 dev lo`,
      `route add blackhole ${far.dropped}`,
      `route add unreachable ${far.unreachable}`,
      `route add prohibit ${far.prohibited}`,
    ]);
    const controlPlane = host.spawn(
      process.execPath,
      ['test/support/lab-control-plane.ts', locationKey],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    await Promise.all([
      serveIn(host, {
        [far.dns]: zone,
        [far.dnsThatRefuses]: { 'cp.example': 'REFUSED' },
        [far.dnsThatFails]: { 'cp.example': 'SERVFAIL' },
      }),
      controlPlane.stdout === null ? null : once(controlPlane.stdout, 'data'),
    ]);
    return new Office(lab, host);
  }

  /** A host with a cable to the far one, a default route over it, and its name server. */
  async place({ hasIpv6 = false, hasRoute = true } = {}): Promise<Place> {
    this.#places += 1;
    const number = this.#places;
    const host = await this.#lab.host(`p${number}`);
    const network = `10.81.${number}`;
    const six = `fd81:${number}::`;
    const { oneInterface, otherInterface } = await this.#lab.cable(
      { host, addresses: [`${network}.2/24`, ...(hasIpv6 ? [`${six}2/64`] : [])] },
      { host: this.farHost, addresses: [`${network}.1/24`, ...(hasIpv6 ? [`${six}1/64`] : [])] },
    );
    const gateway = `${network}.1`;
    if (hasRoute) {
      await host.ipBatch([
        `route add default via ${gateway}`,
        ...(hasIpv6 ? [`route add default via ${six}1`] : []),
      ]);
    }
    await host.resolvConf(`nameserver ${far.dns}\n`);
    return { host, device: oneInterface, farDevice: otherInterface, gateway, network };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#lab[Symbol.asyncDispose]();
  }
}
