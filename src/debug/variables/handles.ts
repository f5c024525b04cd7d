/** The references by which a client requests the children of variables. Valid until the debuggee continues. */
import { StudioError } from '../../common/errors.ts';
import type { Node, VariableNodes } from './node.ts';

/** The children of a variable, and the owner of the variable. */
interface Container<O> {
  readonly children: VariableNodes;
  readonly owner: O;
  /** Nodes that the client has: it refers to a variable by its name among them. */
  readonly sent: Map<string, Node>;
}

export class VariableHandles<O> {
  #containers: Container<O>[] = [];

  /** Returns 0 without children. */
  create(children: VariableNodes | undefined, owner: O): number {
    return children === undefined ? 0 : this.#containers.push({ children, owner, sent: new Map() });
  }

  /** Throws `usage` for a reference from an earlier stop. */
  get(reference: number): Container<O> {
    const container = this.#containers[reference - 1];
    if (container === undefined) throw new StudioError('usage', 'This value belongs to an earlier stop.');
    return container;
  }

  clear(): void {
    this.#containers = [];
  }
}
