import { useState } from "react";
import { Button } from "../../../components/controls/button.tsx";
import { Select, TextArea, TextField } from "../../../components/controls/field.tsx";
import { Dialog } from "../../../components/layout/dialog.tsx";
import { words } from "../../../words/words.ts";
import type { MoveAnswers, MoveIntent } from "../actions/plan-move.ts";
import { useBoard } from "../board-context.tsx";
import styles from "./dialogs.module.css";
import { localTime, soonTimes } from "./local-time.ts";

const { board: text } = words;

/** Asks for what a move needs: a confirmation, a reason, a time or a reviewer. */
export function MoveDialog({
  intent,
  onAnswer,
  onClose,
}: {
  readonly intent: MoveIntent;
  onAnswer(answers: MoveAnswers): void;
  onClose(): void;
}) {
  const { board } = useBoard();
  const { question, groups, endsRun } = intent;
  const asked = groups.find(({ choice }) => choice.ask === question) ?? groups[0];
  const [said, setSaid] = useState("");
  const [time, setTime] = useState(() => localTime(soonTimes(Date.now()).hour));
  const profiles = (board?.assignees ?? []).map(({ name }) => name);
  const workers = new Set(asked?.cards.map(({ assignee }) => assignee));
  const reviewers = profiles.filter((name) => !workers.has(name));
  const [reviewer, setReviewer] = useState(reviewers[0] ?? "");
  const [wasTried, setTried] = useState(false);
  if (asked === undefined || question === undefined) return null;

  const { move } = asked.choice;
  const { ask } = text;
  const cards = groups.flatMap((group) => group.cards);
  const [card] = cards;
  const at = new Date(time).getTime();
  const needsText = question === "reason" || question === "changes";
  const problem =
    question === "time" && !(at > Date.now())
      ? ask.timeIsPast
      : (needsText && said.trim() === "") || (question === "reviewer" && reviewer.trim() === "")
        ? ask.needed
        : undefined;
  const shownProblem = wasTried ? problem : undefined;
  const submit = (): void => {
    setTried(true);
    if (problem === undefined) onAnswer({ text: said, reviewer: reviewer.trim(), at });
  };
  const isDanger = question === "stop" || move === "archive";

  return (
    <Dialog
      title={ask.titles[move]}
      onClose={onClose}
      onSubmit={submit}
      actions={
        <>
          <Button onClick={onClose}>{words.shell.cancel}</Button>
          <Button type="submit" kind={isDanger ? "danger" : "main"}>
            {ask.buttons[move]}
          </Button>
        </>
      }
    >
      <p className={styles.about}>
        {cards.length === 1 && card !== undefined ? (
          <>
            <span className="mono faint">{text.number(card.seq)}</span> {card.title}
          </>
        ) : (
          ask.many(cards.length)
        )}
      </p>
      <Explanation move={move} question={question} endsRun={endsRun} />
      {question === "reason" && (
        <TextArea
          label={ask.reason}
          hint={ask.reasonHint}
          problem={shownProblem}
          value={said}
          autoFocus
          onChange={(event) => setSaid(event.target.value)}
          onSubmitKey={submit}
        />
      )}
      {question === "changes" && (
        <TextArea
          label={ask.changes}
          hint={ask.changesHint}
          problem={shownProblem}
          value={said}
          autoFocus
          onChange={(event) => setSaid(event.target.value)}
          onSubmitKey={submit}
        />
      )}
      {question === "time" && (
        <>
          <TextField
            label={ask.time}
            type="datetime-local"
            problem={shownProblem}
            value={time}
            onChange={(event) => setTime(event.target.value)}
          />
          <div className={styles.chips}>
            {(["hour", "tomorrow", "monday"] as const).map((name) => (
              <Button key={name} small onClick={() => setTime(localTime(soonTimes(Date.now())[name]))}>
                {ask.soon[name]}
              </Button>
            ))}
          </div>
        </>
      )}
      {question === "reviewer" &&
        (reviewers.length > 0 ? (
          <Select
            label={ask.reviewer}
            problem={shownProblem}
            value={reviewer}
            onChange={(event) => setReviewer(event.target.value)}
          >
            {reviewers.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </Select>
        ) : (
          <TextField
            label={ask.reviewer}
            problem={shownProblem}
            value={reviewer}
            onChange={(event) => setReviewer(event.target.value)}
          />
        ))}
      {(question === "summary" || question === "reviewer") && (
        <TextArea
          label={`${ask.summary} (${ask.optional})`}
          hint={ask.summaryHint}
          value={said}
          onChange={(event) => setSaid(event.target.value)}
          onSubmitKey={submit}
        />
      )}
    </Dialog>
  );
}

function Explanation({
  move,
  question,
  endsRun,
}: {
  readonly move: string;
  readonly question: MoveIntent["question"];
  readonly endsRun: boolean;
}) {
  const { ask } = text;
  const sentence =
    move === "complete"
      ? endsRun
        ? ask.completeRunning
        : ask.complete
      : move === "archive"
        ? endsRun
          ? ask.archiveRunning
          : ask.archive
        : move === "reopen"
          ? ask.reopen
          : move === "approve"
            ? ask.approve
            : question === "stop"
              ? ask.stop
              : endsRun
                ? ask.endsRun
                : undefined;
  return sentence === undefined ? null : <p className="soft">{sentence}</p>;
}
