import {
  dataCenterLocations,
  type DataCenterLocation,
} from '@monitor/shared/contract/primitives.ts';
import type { locationRoutes } from '@monitor/shared/contract/private-location.ts';
import type { Handlers } from '../../http/handlers.ts';

export const locationHandlers: Handlers<typeof locationRoutes> = {
  listLocations: () =>
    Promise.resolve(
      Object.entries(dataCenterLocations).map(([region, name]) => ({
        region: region as DataCenterLocation,
        name,
      })),
    ),
};
