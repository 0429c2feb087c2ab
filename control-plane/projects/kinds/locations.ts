/** Private locations and maintenance windows. */
import { isDeepStrictEqual } from 'node:util';
import { maintenanceWindowRoutes } from '@monitor/shared/contract/maintenance-window.ts';
import { privateLocationRoutes } from '@monitor/shared/contract/private-location.ts';
import {
  maintenanceWindowsOf,
  windowColumnsOf,
  type WindowFields,
} from '../../maintenance/index.ts';
import { privateLocationsOf } from '../../scheduling/index.ts';
import { type Kind, kindOf } from './kind.ts';

export const locations: Kind = {
  ...kindOf({
    type: 'private-location',
    route: privateLocationRoutes.createPrivateLocation,
    // Nobody would see the first key of a location that a project makes: people create it when they need it.
    of: (services) => privateLocationsOf(services, { forget: services.afterDeployment.forgetKeys }),
  }),
  keptUnlessGiven: ['resultEncryptionKeys'],
  keptWhenReplaced: ['resultEncryptionKeys'],
  address: 'slugName',
  isOther: (stored, body) => stored['slugName'] !== body['slugName'],
};

const windowKind = kindOf({
  type: 'maintenance-window',
  route: maintenanceWindowRoutes.createMaintenanceWindow,
  of: maintenanceWindowsOf,
  references: {
    ...{ 'pauseScope.checkIds.*': 'check', 'silenceScope.checkIds.*': 'check' },
    ...{ 'pauseScope.groupIds.*': 'check-group', 'silenceScope.groupIds.*': 'check-group' },
    ...{
      'pauseScope.serviceIds.*': 'status-page-service',
      'silenceScope.serviceIds.*': 'status-page-service',
      'pauseScope.statusPageIds.*': 'status-page',
      'silenceScope.statusPageIds.*': 'status-page',
      'statusPageVisibility.serviceIds.*': 'status-page-service',
      'statusPageVisibility.statusPageIds.*': 'status-page',
      'ownerAlertChannelIds.*': 'alert-channel',
    },
  },
});

export const windows: Kind = {
  ...windowKind,
  keptUnlessGiven: [
    ...['timezone', 'description', 'pauseAllChecks', 'silenceAlertsTags', 'silenceAllAlerts'],
    ...['pauseScope', 'silenceScope', 'statusPageVisibility', 'ownerAlertChannelIds'],
  ],
  parse: (payload, references, slugs) => ({
    tags: null,
    ...windowKind.parse(payload, references, slugs),
  }),
  async read(unit, ids) {
    const stored = await windowKind.read(unit, ids);
    // An empty list would say that the window applies to nothing.
    for (const { fields } of stored.values()) {
      if ((fields['tags'] as string[]).length === 0) delete fields['tags'];
    }
    return stored;
  },
  // Instants may be written in many ways.
  isSame: (stored, body) =>
    isDeepStrictEqual(
      windowColumnsOf(stored as unknown as WindowFields),
      windowColumnsOf({ ...stored, ...body } as unknown as WindowFields),
    ),
};
