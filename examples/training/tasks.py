"""Questions to the library desk: those of training and those held out share no name, no title, and no ID."""

import json
import random
from pathlib import Path

KINDS = ["count", "due", "renew", "unknown"]

TRAIN = {
    "first": "Ada Bruno Clara Dmitri Elena Farid Greta Hugo Ines Jonas Karin Liam Mara Nadia Oskar Petra".split(),
    "last": "Abel Brandt Castro Duarte Engel Fischer Gomez Haas Ivanov Jansen Keller Lopez Moreau Novak".split(),
    "adjective": "Silent Crimson Broken Distant Golden Hidden Iron Jade".split(),
    "noun": "Harbor Garden Ladder Mirror Orchard Bridge Lantern River".split(),
    "numbers": (10, 59),
}
HELD_OUT = {
    "first": "Quentin Rosa Samir Tilda Umar Vera Wanda Xenia Yusuf Zora Anton Bea Carl Dora".split(),
    "last": "Olsen Peters Quist Rossi Santos Tanaka Ullman Vogel Weber Young Zimmer Becker".split(),
    "adjective": "Quiet Amber Frozen Painted Scarlet Winding Hollow Velvet".split(),
    "noun": "Castle Meadow Compass Island Theater Window Forest Station".split(),
    "numbers": (60, 99),
}


def write_tasks(path: Path, words: dict, count: int, seed: int) -> None:
    """Writes a dataset, as many of each kind of question. The same seed writes the same bytes."""
    rng = random.Random(seed)
    rows = [task(rng, words, KINDS[at % len(KINDS)], at) for at in range(count)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def task(rng: random.Random, words: dict, kind: str, at: int) -> dict:
    def date() -> str:
        return f"{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}"

    low, high = words["numbers"]
    name = f"{rng.choice(words['first'])} {rng.choice(words['last'])}"
    numbers = rng.sample(range(low, high + 1), rng.randint(1, 3))
    titles = rng.sample([f"{a} {n}" for a in words["adjective"] for n in words["noun"]], len(numbers))
    loans = [
        {"title": title, "loan_id": f"L{number}", "due": date()} for title, number in zip(titles, numbers, strict=True)
    ]
    loan, new_due = rng.choice(loans), date()
    question, answer = {
        "count": (f'How many loans does "{name}" have?', f"{name} has {len(loans)} loans."),
        "due": (f'When is "{loan["title"]}" due for "{name}"?', f"It is due {loan['due']}."),
        "renew": (f'Renew "{loan["title"]}" for "{name}".', f"Renewed until {new_due}."),
        "unknown": (f'How many loans does "{name}" have?', "There is no such member."),
    }[kind]
    member = {"name": name} if kind == "unknown" else {"name": name, "member_id": f"M{rng.randint(low, high)}"}
    state = {"member": member, "loans": loans, "new_due": new_due}
    return {"id": f"{kind}-{at + 1}", "question": question, "answer": answer, "world": {"state": state}}
