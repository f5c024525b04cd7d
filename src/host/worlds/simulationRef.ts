/** Reads what the text of a simulated world's file says about its prompt, even if the file is incomplete. */
import { isJsonObject, type Json } from '../../common/json.ts';
import { oneLine } from '../../common/text.ts';
import { dirname, joinPath } from '../../config/paths.ts';
import { isPromptPath } from '../../config/prompt.ts';
import { SIMULATION_PARTS, type SimulationPart } from '../../config/schema/simulatedWorld.ts';
import type { ParsedFile } from '../../config/source/parse.ts';

export interface SimulationRef {
  readonly domain: string;
  /** The parts that the prompt has, in its order. */
  readonly parts: readonly PromptPartRef[];
}

export interface PromptPartRef {
  readonly part: SimulationPart;
  /** Its heading in the prompt, which is also its name. */
  readonly heading: string;
  /** What it says, or where it is from. */
  readonly about: string;
  /** What has it, at a 1-based position. Absent: the text of the domain. */
  readonly place?: { readonly path: string; readonly line: number; readonly column: number };
}

const HEADINGS: Readonly<Record<SimulationPart, string>> = {
  task: 'Task',
  actions: 'Actions',
  state: 'Initial State',
  demonstrations: 'Demonstrations',
  instruction: 'Simulation Instruction',
};

/** Parts that a domain has a text for. */
const DEFAULT_PARTS: ReadonlySet<SimulationPart> = new Set(['task', 'actions']);
const MAX_TEXT = 60;

/** Returns undefined for a world that is not simulated. */
export function simulationRef(parsed: ParsedFile): SimulationRef | undefined {
  const file = isJsonObject(parsed.value) ? parsed.value : {};
  if (file['kind'] !== 'simulated') return undefined;
  const domain = typeof file['domain'] === 'string' ? file['domain'] : 'mcp';
  const parts = SIMULATION_PARTS.flatMap((part): PromptPartRef[] => {
    const written = file[part];
    const named = { part, heading: HEADINGS[part] };
    if (written === undefined || written === null)
      return DEFAULT_PARTS.has(part) ? [{ ...named, about: `of the domain ${domain}` }] : [];
    const { line, column } = parsed.valueRange([part]);
    const place =
      typeof written === 'string' && isPromptPath(written)
        ? { path: joinPath(dirname(parsed.file), written.trim()), line: 1, column: 1 }
        : { path: parsed.file, line, column };
    return [{ ...named, about: aboutOf(written), place }];
  });
  return { domain, parts };
}

function aboutOf(written: Json): string {
  if (typeof written === 'string') return oneLine(written, MAX_TEXT);
  if (!isJsonObject(written)) return '';
  const { sql, file, files, command, recorded } = written;
  const database = isJsonObject(sql) ? sql['database'] : undefined;
  if (typeof database === 'string') return `rows of ${database}`;
  if (command !== undefined) return `output of ${words(command, ' ')}`;
  if (recorded !== undefined) return `recorded in ${words(recorded, ', ')}`;
  return words(file ?? files, ', ');
}

function words(value: Json | undefined, separator: string): string {
  const list = Array.isArray(value) ? value : [value];
  return oneLine(list.filter((item) => typeof item === 'string').join(separator), MAX_TEXT);
}
