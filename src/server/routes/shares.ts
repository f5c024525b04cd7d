/** Routes that show how the server divides what it has, why batches wait, and what their pods used. */
import type { BatchHours } from '../../protocol/shares.ts';
import { callerOf } from '../access/caller.ts';
import { param } from '../http/call.ts';
import type { RouteHandler } from '../http/router.ts';
import type { Services } from '../services.ts';

const HOUR_SECONDS = 3_600;

export function shareRoutes({ shares, store }: Services): RouteHandler[] {
  return [
    { method: 'GET', path: '/v1/shares', handle: (call) => shares(callerOf(call.identity)) },
    {
      method: 'GET',
      path: '/v1/batches/:batch/hours',
      handle: async (call): Promise<BatchHours> => ({
        models: (await store.usage.podTotals({ batch: param(call, 'batch') })).map(
          ({ model, gpuSeconds, cpuSeconds }) => ({
            model,
            gpu_hours: gpuSeconds / HOUR_SECONDS,
            cpu_hours: cpuSeconds / HOUR_SECONDS,
          }),
        ),
      }),
    },
  ];
}
