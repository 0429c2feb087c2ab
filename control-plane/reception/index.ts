/** What other modules may use. */
export { afterGracePeriod, whileClockTrusted } from './after-grace-period.ts';
export {
  type Gap,
  losesRequests,
  lostSince,
  shiftOf,
  stepBackOver,
  stepsBackOver,
} from './decide/receivable-time.ts';
export { clampInstants, type GapConsumer } from './gap-consumer.ts';
export { noteAlive, noteAliveAndWritten, openReception } from './keep-reception.ts';
export { machineClocks, type MachineClocks, noMachineClocks } from './machine-clocks.ts';
export { Reception } from './reception.ts';
export { readGaps } from './record-gaps.ts';
