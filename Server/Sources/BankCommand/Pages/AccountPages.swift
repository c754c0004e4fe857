/// The pages before and around a transfer.
enum AccountPages {
    static func home(formToken: String) -> HTML {
        Layout(title: "Welcome", house: .bank).page(
            """
            <div class="grid hero">
            <div>
            <h1>Banking that knows you by your phone.</h1>
            <p class="lead">No password to invent, none to lose. Point your phone at the screen, see who is asking, \
            and confirm.</p>
            <form method="post" action="/sign-in">
            <input type="hidden" name="form_token" value="\(formToken)">
            <button type="submit" data-testid="sign-in">Sign in with your phone</button>
            </form>
            </div>
            <section class="card" aria-labelledby="how">
            <h2 id="how">How it works</h2>
            <ol class="steps">
            <li><div><strong>Scan</strong> Your phone reads the code on the next page.</div></li>
            <li><div><strong>Look</strong> It shows which service asks, and from where.</div></li>
            <li><div><strong>Confirm</strong> On the phone, as you always do. This page then opens your accounts.</div></li>
            </ol>
            </section>
            </div>
            """)
    }

    /// The values that the customer typed. A form with a problem comes back with these values.
    struct Typed: Sendable {
        var amount = "120.00"
        var payee = "Jo Gardener"
        var iban = "DE89 3704 0044 0532 0130 00"
        var reference = "Garden fence"
    }

    static func accounts(
        name: String, formToken: String, account: Ledger.Account, typed: Typed = Typed(),
        problems: TransferOrder.Problems = .init()
    ) -> HTML {
        let rows: [HTML] = account.movements.reversed().map { movement in
            """
            <tr><td class="date">\(DateText.day(movement.date))</td><td>\(movement.text)</td>\
            <td class="amount">\(movement.amount.text)</td></tr>

            """
        }
        return Layout(title: "Accounts", house: .bank, visitor: (name, formToken)).page(
            """
            <h1>Good to see you, \(name).</h1>
            <div class="grid">
            <section class="card" aria-labelledby="everyday">
            <h2 id="everyday">Everyday account</h2>
            <p class="balance" data-testid="balance"><small>EUR</small> \(account.balance.text)</p>
            <p class="muted number">\(IBAN.grouped(account.iban))</p>
            <table><caption>Latest movements</caption>
            <thead><tr><th scope="col">Date</th><th scope="col">What</th><th scope="col" class="amount">EUR</th></tr></thead>
            <tbody>
            \(rows)</tbody></table>
            </section>
            <section class="card" aria-labelledby="transfer">
            <h2 id="transfer">Send money</h2>
            <form method="post" action="/transfers" data-testid="transfer-form" novalidate>
            <input type="hidden" name="form_token" value="\(formToken)">
            \(self.field("amount", "Amount in euros", typed.amount, problems.amount, hint: "As in 120.00"))
            \(self.field("payee", "To whom", typed.payee, problems.payee))
            \(self.field("iban", "Their IBAN", typed.iban, problems.iban))
            \(self.field("reference", "Reference", typed.reference, problems.reference, hint: "Optional"))
            <button type="submit">Continue on the phone</button>
            </form>
            </section>
            </div>
            """)
    }

    private static func field(_ name: String, _ label: String, _ value: String, _ problem: String?, hint: String? = nil)
        -> HTML
    {
        let note: HTML =
            if let problem {
                "<p class=\"problem\" id=\"\(name)-note\" data-testid=\"problem\">\(problem)</p>"
            } else if let hint {
                "<p class=\"hint\" id=\"\(name)-note\">\(hint)</p>"
            } else {
                .nothing
            }
        let described: HTML = problem == nil && hint == nil ? .nothing : " aria-describedby=\"\(name)-note\""
        let invalid: HTML = problem == nil ? .nothing : " aria-invalid=\"true\""
        return """
            <div class="field"><label for="\(name)">\(label)</label>
            <input type="text" id="\(name)" name="\(name)" value="\(value)" autocomplete="off"\(described)\(invalid)>
            \(note)</div>
            """
    }
}
