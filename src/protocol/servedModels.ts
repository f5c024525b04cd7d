/** The models of an installation, as its server knows them. */
import { z } from 'zod';

export const servedModels = z.array(
  z.object({
    /** The name of its Service. */
    service: z.string(),
    port: z.number().int(),
    /** Names by which calls may name it. */
    names: z.array(z.string()),
    /** GPUs of each replica. */
    gpus: z.number().int(),
  }),
);
export type ServedModels = z.output<typeof servedModels>;
