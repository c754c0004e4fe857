/// The town hall's own pages.
struct TownHallPages {
    let house: House

    func home(formToken: String) -> HTML {
        Layout(title: "Welcome", house: self.house).page(
            """
            <div class="grid hero">
            <div>
            <h1>The town hall that asks you, and not your file.</h1>
            <p class="lead">Come as a resident or as an official. Your phone shows which of your data we ask for; what you \
            do not confirm, we never see.</p>
            <form method="post" action="/sign-in">
            <input type="hidden" name="form_token" value="\(formToken)">
            <button type="submit" data-testid="sign-in">Sign in with your identity</button>
            <button type="submit" class="quiet" name="newcomer" value="yes" data-testid="newcomer">I have none yet</button>
            </form>
            </div>
            <section class="card" aria-labelledby="how">
            <h2 id="how">What your phone will ask</h2>
            <ol class="steps">
            <li><div><strong>As what you come</strong> A resident or an official, where you are both.</div></li>
            <li><div><strong>Your data</strong> What we ask of you, such as your given name: which value, where you have \
            several.</div></li>
            <li><div><strong>Your factors</strong> The phone itself, and your PIN or your finger.</div></li>
            </ol>
            </section>
            </div>
            """)
    }

    func desk(_ person: OpenIDClient.Person, formToken: String) -> HTML {
        let rows: [HTML] = person.claims.map { claim in
            """
            <div><dt>\(Self.label(claim.name))</dt><dd data-testid="claim-\(claim.name)">\(claim.text)</dd></div>

            """
        }
        let list: HTML =
            rows.isEmpty
            ? "<p data-testid=\"no-claims\">Nothing, but that it is you.</p>"
            : """
            <dl class="order">
            \(rows)</dl>
            """
        return Layout(title: "Your desk", house: self.house, visitor: (person.name, formToken)).page(
            """
            <h1>Good to see you, \(person.name).</h1>
            <section class="card" aria-labelledby="known">
            <h2 id="known">What the town hall got to know of you</h2>
            \(list)
            <p class="muted">We know you again by <code data-testid="subject">\(person.subject)</code>, a name that no \
            other service has for you.</p>
            </section>
            """)
    }

    /// Returns a claim's name as people read it.
    private static func label(_ name: String) -> String {
        switch name {
        case "given_name": "Given name"
        case "family_name": "Family name"
        case "birthdate": "Date of birth"
        case "email": "E-mail address"
        case "phone_number": "Telephone number"
        case "preferred_username": "User name"
        default: name.split(separator: "_").joined(separator: " ")
        }
    }
}
