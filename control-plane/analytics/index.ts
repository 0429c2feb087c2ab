/** What other modules may use. */
export { analyticsHandlers, analyticsTypeBindings } from './handlers.ts';
export { checkEventHandlers } from './check-events.ts';
export { prometheusHandlers } from './prometheus/handlers.ts';
export {
  type Availability,
  availabilityOfChecks,
  meanAvailability,
} from './availability-of-checks.ts';
export { dayFigures } from './figures-of-checks.ts';
export { hourMs, hourOf } from './decide/roll-ups/cell.ts';
export { ImportedSums, retryHistories } from './imported-sums.ts';
export { reportingHandlers } from './reporting/handlers.ts';
export { pruneRollUps, setRawFrom } from './roll-up-rows.ts';
export { RollUp } from './roll-up.ts';
