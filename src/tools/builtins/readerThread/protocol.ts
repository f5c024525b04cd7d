/** Requests to a reader thread and its replies. */
import type { JsonObject } from '../../../common/json.ts';
import type { JsonSchema, TextSearch, ToolOutcome } from '../../../rollout/ports.ts';
import type { ErrorClass } from '../../../trace/schema.ts';

export type Job =
  | {
      readonly kind: 'tool';
      readonly set: 'documents' | 'spreadsheet';
      readonly name: string;
      readonly cwd: string;
      readonly args: JsonObject;
    }
  | {
      readonly kind: 'page';
      readonly url: string;
      readonly media: string;
      readonly charset: string | undefined;
      readonly bytes: Uint8Array;
    }
  | ({ readonly kind: 'search' } & TextSearch)
  | { readonly kind: 'arguments'; readonly schema: JsonSchema; readonly args: JsonObject };

export type Reply =
  | { readonly outcome: ToolOutcome }
  | { readonly error: { readonly class: ErrorClass; readonly message: string } };
