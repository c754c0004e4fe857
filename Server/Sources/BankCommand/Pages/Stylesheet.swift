/// The bank's look: paper, ink and bottle green, headings in the reader's serif face.
enum Stylesheet {
    static let text = """
        :root {
          color-scheme: light dark;
          --paper: #f7f3ea; --card: #fffdf8; --ink: #17241f; --muted: #53615a; --line: #ddd5c3;
          --green: #0b5a44; --green-deep: #073d2f; --on-green: #ffffff; --brass: #7d5200; --danger: #9c1f17;
          --danger-paper: #fbe9e4; --good-paper: #e3f1e8;
          --serif: "Iowan Old Style", "Palatino Linotype", Palatino, "Book Antiqua", Georgia, serif;
          --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif;
        }
        @media (prefers-color-scheme: dark) {
          :root {
            --paper: #0e1613; --card: #16211c; --ink: #edf3ee; --muted: #a8b8af; --line: #2d3c35;
            --green: #74d6b1; --green-deep: #0a2a20; --on-green: #05231a; --brass: #e6b65d; --danger: #ff9d93;
            --danger-paper: #351a17; --good-paper: #14301f;
          }
        }
        * { box-sizing: border-box; }
        [hidden] { display: none !important; }
        body { margin: 0; background: var(--paper); color: var(--ink); font: 1.0625rem/1.55 var(--sans); }
        a { color: var(--green); text-underline-offset: .18em; }
        :focus-visible { outline: 3px solid var(--brass); outline-offset: 3px; border-radius: 4px; }
        .skip { position: absolute; left: -999rem; }
        .skip:focus { left: 1rem; top: .5rem; background: var(--card); padding: .5rem 1rem; z-index: 1; }
        .top { background: var(--green-deep); color: #f7f3ea; }
        .top > div { max-width: 66rem; margin: 0 auto; padding: .9rem 1.25rem; display: flex; gap: 1rem;
          align-items: center; justify-content: space-between; flex-wrap: wrap; }
        .brand { display: flex; align-items: center; gap: .7rem; color: inherit; text-decoration: none;
          font: 600 1.25rem/1.2 var(--serif); letter-spacing: .01em; }
        .brand svg { width: 2rem; height: 2rem; flex: none; }
        .top button { background: transparent; color: #f7f3ea; border: 1px solid #f7f3ea80; padding: .45rem .95rem; }
        .top .who { display: flex; gap: .9rem; align-items: center; flex-wrap: wrap; }
        main { max-width: 66rem; margin: 0 auto; padding: 2.25rem 1.25rem 3rem; }
        h1 { font: 600 clamp(2rem, 5vw, 3rem)/1.12 var(--serif); margin: 0 0 1rem; letter-spacing: -.01em;
          text-wrap: balance; }
        h2 { font: 600 1.35rem/1.25 var(--serif); margin: 0 0 .9rem; }
        p { margin: 0 0 1rem; max-width: 38rem; }
        .lead { font-size: 1.2rem; color: var(--muted); }
        .muted { color: var(--muted); }
        .grid { display: grid; gap: 1.5rem; grid-template-columns: minmax(0, 1fr); }
        @media (min-width: 52rem) {
          .grid { grid-template-columns: minmax(0, 1.15fr) minmax(0, 1fr); align-items: start; }
          .hero { padding-top: 2.5rem; gap: 3.5rem; }
        }
        .card { background: var(--card); border: 1px solid var(--line); border-radius: 14px; padding: 1.5rem; }
        .card > :last-child { margin-bottom: 0; }
        button, .button { display: inline-block; font: 600 1.05rem/1.2 var(--sans); color: var(--on-green);
          background: var(--green); border: 1px solid transparent; border-radius: 999px; padding: .85rem 1.6rem;
          cursor: pointer; text-decoration: none; min-height: 2.75rem; text-align: center; }
        .top button { font-size: .95rem; }
        button:hover, .button:hover { filter: brightness(1.08); }
        .button.quiet, button.quiet { background: transparent; color: var(--green); border-color: currentColor; }
        .steps { list-style: none; counter-reset: step; margin: 0; padding: 0; display: grid; gap: 1.1rem; }
        .steps li { counter-increment: step; display: grid; grid-template-columns: 2.4rem 1fr; gap: .9rem; }
        .steps li::before { content: counter(step); font: 600 1.15rem/2.4rem var(--serif); text-align: center;
          height: 2.4rem; border-radius: 50%; border: 1px solid var(--brass); color: var(--brass); }
        .steps strong { display: block; }
        .balance { font: 600 clamp(2.2rem, 7vw, 3.2rem)/1.1 var(--serif); font-variant-numeric: tabular-nums; margin: 0; }
        .balance small { font: 500 1.05rem var(--sans); color: var(--muted); }
        .number { font-variant-numeric: tabular-nums; letter-spacing: .02em; }
        table { width: 100%; border-collapse: collapse; margin-top: 1.4rem; font-size: 1rem; }
        caption { text-align: left; font: 600 1.1rem/1.3 var(--serif); padding-bottom: .4rem; }
        th, td { text-align: left; padding: .6rem 0; border-top: 1px solid var(--line); vertical-align: top; font-weight: 400; }
        thead th { color: var(--muted); font-size: .9rem; border-top: 0; }
        td.amount, th.amount { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; padding-left: 1rem; }
        td.date { color: var(--muted); white-space: nowrap; padding-right: 1rem; font-size: .95rem; }
        td { overflow-wrap: anywhere; }
        @media (max-width: 24rem) {
          main, .top > div { padding-inline: .9rem; }
          .card { padding: 1.1rem; }
          td.date { white-space: normal; padding-right: .6rem; min-width: 4.2rem; }
        }
        .field { margin-bottom: 1.1rem; }
        label { display: block; font-weight: 600; margin-bottom: .3rem; }
        input[type=text] { width: 100%; font: inherit; color: inherit; background: var(--paper); padding: .7rem .85rem;
          border: 1px solid var(--muted); border-radius: 9px; min-height: 2.75rem; }
        input[aria-invalid=true] { border-color: var(--danger); border-width: 2px; }
        .problem { color: var(--danger); font-size: .95rem; margin: .35rem 0 0; }
        .hint { color: var(--muted); font-size: .95rem; margin: .35rem 0 0; }
        .order { margin: 0 0 1.4rem; display: grid; gap: .7rem; }
        .order div { border-bottom: 1px solid var(--line); padding-bottom: .6rem; }
        .order dt { color: var(--muted); font-size: .95rem; }
        .order dd { margin: 0; font-weight: 600; overflow-wrap: anywhere; }
        .order dd.sum { font: 600 1.9rem/1.2 var(--serif); }
        figure { margin: 0 0 1.2rem; }
        .code { background: #ffffff; border: 1px solid var(--line); border-radius: 14px; padding: 14px; width: min(100%, 19rem);
          display: block; }
        .code img { display: block; width: 100%; height: auto; }
        .state { display: flex; gap: .7rem; align-items: center; border-radius: 10px; padding: .8rem 1rem; margin: 0 0 1.2rem;
          background: var(--good-paper); max-width: none; }
        .state::before { content: ""; width: .7rem; height: .7rem; border-radius: 50%; background: var(--green); flex: none; }
        .state[data-state=waiting]::before { background: var(--brass); }
        @media (prefers-reduced-motion: no-preference) {
          .state::before { animation: breathe 1.8s ease-in-out infinite; }
          @keyframes breathe { 50% { opacity: .35; } }
        }
        .seal { width: 4rem; height: 4rem; margin-bottom: 1rem; }
        .outcome { max-width: 40rem; margin-inline: auto; text-align: center; }
        .outcome p { margin-inline: auto; }
        .outcome .order { text-align: start; }
        .outcome .seal { display: block; margin-inline: auto; }
        .outcome.refused { border-color: var(--danger); background: var(--danger-paper); }
        .button.touch, .unscanned { display: none; }
        @media (pointer: coarse) { .button.touch { display: inline-block; } }
        /* A phone cannot scan its own screen. */
        @media (pointer: coarse) and (max-width: 40rem) { .scan { display: none; } .unscanned { display: inline; } }
        .actions { display: flex; gap: .8rem; flex-wrap: wrap; align-items: center; }
        footer { max-width: 66rem; margin: 0 auto; padding: 0 1.25rem 2.5rem; color: var(--muted); font-size: .95rem; }

        """
}
