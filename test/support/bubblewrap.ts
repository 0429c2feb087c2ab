import { findOfSystem } from '../../agent/system/find-program.ts';

/** The option of a test that keeps runs apart by bubblewrap. `npm run test:lab` fails where it is missing. */
export const needsBubblewrap = {
  skip: findOfSystem('bwrap') === null ? 'apt-get install bubblewrap' : false,
};
