/**
 * A control plane in a host of the lab, as a program to be started in it: on port 3000 of all its
 * addresses, with the key of the first argument. Says "ready" when it serves.
 */
import { FakeControlPlane } from './fake-control-plane.ts';

await FakeControlPlane.start({ host: '::', port: 3000, key: process.argv[2] ?? '' });
console.log('ready');
