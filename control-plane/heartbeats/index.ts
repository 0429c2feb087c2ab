/** What other modules may use. */
export { availabilityWithin, type HeartbeatTimes } from './decide/heartbeat-times.ts';
export { heartbeatHandlers } from './handlers.ts';
export { sweepHeartbeats } from './heartbeats.ts';
export { heartbeatTimers } from './keep-timers.ts';
export { moveHeartbeats } from './move-deadlines.ts';
export { resumeHeartbeats } from './postpone-heartbeats.ts';
export { pruneHeartbeatEvents } from './prune-events.ts';
export { readHeartbeatTimes, resumedSince } from './read-heartbeat-times.ts';
