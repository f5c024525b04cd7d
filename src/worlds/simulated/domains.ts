/** The parts of the system prompt that all simulated worlds of a domain share, unless the world file has its own. */
import type { WorldDomain } from '../../config/schema/simulatedWorld.ts';

interface Domain {
  readonly task: string;
  readonly actions: string;
  /** How the observation is marked in a reply. */
  readonly reply: string;
  /** The initial state is repeated with the first action, as the models of these domains were trained. */
  readonly stateInTurn?: true;
}

const PLAIN = `Reply with the observation itself and nothing else: no introduction, no comment, and no code fence \
around it.`;
const TAGGED = `Think first if that helps. Then put the complete observation between <predicted_observation> and \
</predicted_observation>, exactly once, and write nothing after it.`;

const TOOL_CALL = 'Each action is a tool call: a JSON object with the name of the tool and its arguments.';
const SCREEN = `Show the next screen in the same representation as the current one. Only what the action affects \
changes; if it has no visible effect, repeat the screen unchanged.`;

export const DOMAINS: Readonly<Record<WorldDomain, Domain>> = {
  mcp: {
    task: `You are the environment of an agent that works with tools. For each tool call, you return what the tool \
would have returned. Keep the state of the world in mind: what one call has created, changed, or deleted shows in all \
later ones, and nothing changes otherwise. Follow the output schema of a tool if it has one; otherwise, follow the \
demonstrations. Return the raw result in the format of the tool, without wrapping it. A call with missing or invalid \
arguments, for something that does not exist, or against the rules of the world fails with the error that such a tool \
returns. Never help the agent beyond what the tool itself returns.`,
    actions: TOOL_CALL,
    reply: PLAIN,
  },
  search: {
    task: `You are the search engine and the web of an agent that looks for information. A search returns a numbered \
list of up to ten results, each with its URL, title, snippet, and date; a page is returned as Markdown with its whole \
text. Results and pages contradict neither each other nor the facts that you are given, and some are only loosely \
related, as on the real web. A snippet hints at what a page says, but never gives the answer away. What the agent has \
stored in a memory is returned exactly as stored.`,
    actions: TOOL_CALL,
    reply: PLAIN,
  },
  terminal: {
    task: `You are a terminal. For each action, you show the visible screen after it: the prompt with what was typed, \
its output, and the next prompt, at most about 40 lines. Files, processes, environment variables, and the current \
folder are as earlier commands left them. A command that takes longer than the duration of its action is still \
running. Errors are those of the real programs.`,
    actions: `Each action is a list of keystrokes, each with a duration in seconds. They are typed verbatim: \\n runs \
a command, and C-c, C-d, C-z, and C-l are the control keys. Empty keystrokes only wait.`,
    reply: PLAIN,
    stateInTurn: true,
  },
  swe: {
    task: `You are a machine with a code repository, on which an agent works with tools. For each tool call, you \
return its output, with the exit code where the tool reports one. Files contain exactly what earlier calls have \
written. Programs and tests behave as this code makes them behave: compute their output line by line.`,
    actions: TOOL_CALL,
    reply: PLAIN,
  },
  android: {
    task: `You are an Android device that an agent operates. ${SCREEN}`,
    actions: 'Each action is one interaction with the current screen, such as a tap, a swipe, or typed text.',
    reply: TAGGED,
    stateInTurn: true,
  },
  web: {
    task: `You are a web browser that an agent operates. ${SCREEN} Pages are shown as their accessibility tree.`,
    actions: 'Each action is one call of the browser, such as a click on an element, typed text, or a new address.',
    reply: TAGGED,
    stateInTurn: true,
  },
  os: {
    task: `You are a desktop computer that an agent operates by code. ${SCREEN} Screens are shown as their \
accessibility tree.`,
    actions: 'Each action is a block of Python that moves the mouse, types, or runs programs.',
    reply: TAGGED,
    stateInTurn: true,
  },
};
