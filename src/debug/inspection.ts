/** Frames, scopes, variables, and values of expressions at the current stop. Valid until the next move. */
import type { DebugProtocol } from '@vscode/debugprotocol';
import { StudioError } from '../common/errors.ts';
import type { DebuggedRollout } from './debuggedRollout.ts';
import { complete, evaluate } from './evaluate.ts';
import { cutOf, editOf } from './forking.ts';
import { type Frame, frameName, framesAt, stopLabel } from './frames.ts';
import type { DebugSession } from './session.ts';
import { frameSource, type ReferenceOf } from './sources/frameSource.ts';
import { StopHandles } from './stopHandles.ts';
import { type Node, type VariableNodes, valueNode } from './variables/node.ts';
import { type ScopeContext, scopesOf } from './variables/scopes.ts';

/** A frame of the call stack that was sent to the client. */
export interface SentFrame {
  readonly rollout: DebuggedRollout;
  readonly frame: Frame;
  readonly context: ScopeContext;
}

/** The children of a variable, and the owner of the variable. */
interface Container {
  readonly children: VariableNodes;
  readonly owner: DebuggedRollout;
  /** Nodes that the client has: it refers to a variable by its name among them. */
  readonly sent: Map<string, Node>;
}

export class Inspection {
  readonly #session: DebugSession;
  readonly #referenceOf: ReferenceOf;
  readonly #variables = new StopHandles<Container>('value');
  readonly #frames = new StopHandles<SentFrame>('frame');

  constructor(session: DebugSession, referenceOf: ReferenceOf) {
    this.#session = session;
    this.#referenceOf = referenceOf;
  }

  /** Invalidates frames and variables after a move. */
  forget(): void {
    this.#variables.clear();
    this.#frames.clear();
  }

  /** Returns a frame. Throws `gone` for one from an earlier stop. */
  frame(id: number): SentFrame {
    return this.#frames.get(id);
  }

  stackTrace({
    threadId,
    startFrame = 0,
    levels = 0,
  }: DebugProtocol.StackTraceArguments): DebugProtocol.StackTraceResponse['body'] {
    const thread = this.#session.threads.get(threadId);
    const place = this.#session.threads.placeOf(thread);
    if (place === undefined) throw new StudioError('conflict', 'The rollout is running.');
    const { rollout } = thread;
    const { debuggee, pending, limits } = rollout;
    // Show a recorded call together with its result.
    const at = Math.max(place.at, debuggee.model.span(place.seq)?.end?.seq ?? 0);
    const context: ScopeContext = { debuggee, place: { seq: place.seq, at }, pending, limits };
    const frames = framesAt(debuggee.model, place).map((frame): DebugProtocol.StackFrame => {
      const id = this.#frames.add({ rollout, frame, context });
      return {
        id,
        name: frameName(frame, rollout.title),
        canRestart: cutOf(frame, rollout) !== undefined,
        ...frameSource(frame, rollout, this.#referenceOf),
      };
    });
    return {
      stackFrames: frames.slice(startFrame, levels === 0 ? undefined : startFrame + levels),
      totalFrames: frames.length,
    };
  }

  scopes(frameId: number): DebugProtocol.ScopesResponse['body'] {
    const { frame, context, rollout } = this.frame(frameId);
    return {
      scopes: scopesOf(frame, context).map(({ name, children, expensive, hint }) => ({
        name,
        expensive,
        variablesReference: this.#referenceTo(children, rollout),
        ...(hint === undefined ? {} : { presentationHint: hint }),
        ...(children.indexed === undefined ? {} : { indexedVariables: children.indexed }),
      })),
    };
  }

  async variables(
    { variablesReference, filter, start = 0, count = 0 }: DebugProtocol.VariablesArguments,
    signal: AbortSignal,
  ): Promise<DebugProtocol.VariablesResponse['body']> {
    const { children, owner, sent } = this.#variables.get(variablesReference);
    if (filter === 'named' && children.indexed !== undefined) return { variables: [] };
    const nodes = await children.list({ start, count: count === 0 ? Infinity : count }, signal);
    for (const node of nodes) sent.set(node.name, node);
    return { variables: nodes.map((node) => this.#variable(node, owner)) };
  }

  /** Finds a variable that was sent to the client. */
  find(variablesReference: number, name: string): Node | undefined {
    return this.#variables.get(variablesReference).sent.get(name);
  }

  /**
   * Sets a variable. At the head of a held rollout it is changed in place. A recording stays unchanged, and the next
   * fork applies the edit (`waits`).
   */
  async setVariable({
    variablesReference,
    name,
    value,
  }: DebugProtocol.SetVariableArguments): Promise<{ body: DebugProtocol.SetVariableResponse['body']; waits: boolean }> {
    const { owner: rollout } = this.#variables.get(variablesReference);
    const edit = editOf(this.find(variablesReference, name), value);
    const { live } = rollout.debuggee;
    const inPlace = live !== undefined && rollout.atHead;
    if (inPlace) await live.edit(edit);
    else
      rollout.pending = [
        ...rollout.pending.filter(({ of, path }) => path !== edit.path || of.seq !== edit.of.seq || of.m !== edit.of.m),
        edit,
      ];
    const variable = this.#variable(
      valueNode(name, edit.value, { readBlob: (ref, signal) => rollout.debuggee.readBlob(ref, signal) }),
      rollout,
    );
    return {
      body: {
        value: variable.value,
        variablesReference: variable.variablesReference,
        ...(variable.type === undefined ? {} : { type: variable.type }),
      },
      waits: !inPlace,
    };
  }

  evaluate({ expression, frameId, context }: DebugProtocol.EvaluateArguments): DebugProtocol.EvaluateResponse['body'] {
    const { rollout, frame, at } = this.#frameOf(frameId);
    const value = evaluate(expression, rollout, frame, at, context);
    if (context === 'clipboard')
      return { result: typeof value === 'string' ? value : JSON.stringify(value, null, 2), variablesReference: 0 };
    const variable = this.#variable(
      valueNode('', value, { readBlob: (ref, signal) => rollout.debuggee.readBlob(ref, signal), expression }),
      rollout,
    );
    return {
      result: variable.value,
      variablesReference: variable.variablesReference,
      ...(variable.type === undefined ? {} : { type: variable.type }),
      ...(variable.indexedVariables === undefined ? {} : { indexedVariables: variable.indexedVariables }),
    };
  }

  completions({
    text,
    column,
    frameId,
  }: DebugProtocol.CompletionsArguments): DebugProtocol.CompletionsResponse['body'] {
    const { rollout, at } = this.#frameOf(frameId);
    return { targets: complete(text, column, rollout, at) };
  }

  exceptionInfo(threadId: number): DebugProtocol.ExceptionInfoResponse['body'] {
    const thread = this.#session.threads.get(threadId);
    const place = this.#session.threads.placeOf(thread);
    const end = place === undefined ? undefined : thread.rollout.debuggee.model.span(place.seq)?.end?.data;
    const error = end !== undefined && 'error' in end ? end.error : undefined;
    if (error === undefined)
      return { exceptionId: 'rollout', description: 'An exception breakpoint matched here.', breakMode: 'always' };
    return {
      exceptionId: error.class,
      description: error.message,
      breakMode: 'always',
      details: {
        message: error.message,
        typeName: error.class,
        ...(error.stack === undefined ? {} : { stackTrace: error.stack }),
      },
    };
  }

  /** Returns the concurrent calls to choose from. */
  stepInTargets(frameId: number): DebugProtocol.StepInTargetsResponse['body'] {
    const { frame, rollout } = this.frame(frameId);
    return {
      targets: (rollout.cursor?.stops.children(frame.seq) ?? []).map((seq) => ({
        id: seq,
        label: stopLabel(rollout.debuggee.model, seq),
      })),
    };
  }

  #frameOf(frameId: number | undefined): { rollout: DebuggedRollout; frame: Frame | undefined; at: number } {
    if (frameId !== undefined) {
      const { rollout, frame, context } = this.frame(frameId);
      return { rollout, frame, at: context.place.at };
    }
    const [rollout] = this.#session.rollouts;
    if (rollout === undefined) throw new StudioError('conflict', 'No rollout is held.');
    const place = rollout.cursor?.place;
    return {
      rollout,
      frame: undefined,
      at: Math.max(place?.at ?? 0, rollout.debuggee.model.span(place?.seq ?? 0)?.end?.seq ?? 0),
    };
  }

  /** Returns 0 without children. */
  #referenceTo(children: VariableNodes | undefined, owner: DebuggedRollout): number {
    return children === undefined ? 0 : this.#variables.add({ children, owner, sent: new Map() });
  }

  #variable(node: Node, owner: DebuggedRollout): DebugProtocol.Variable {
    const { children } = node;
    return {
      name: node.name,
      value: node.value,
      variablesReference: this.#referenceTo(children, owner),
      ...(node.type === undefined ? {} : { type: node.type }),
      ...(node.expression === undefined ? {} : { evaluateName: node.expression }),
      ...(children?.indexed === undefined ? {} : { indexedVariables: children.indexed }),
      ...(node.edit === undefined ? { presentationHint: { attributes: ['readOnly'] } } : {}),
    };
  }
}
