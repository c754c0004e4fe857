import Pages
import Testing
import Texts

@Suite("Pages for people")
struct PagesTests {
    var renderer = PageRenderer(serviceName: "Example ID", host: "id.example.com", heartbeat: .seconds(15))

    static func signIn(_ state: SignInPage.State, clientName: String = "Demo Bank") -> SignInPage {
        SignInPage(
            requestID: "req_1/2", clientName: clientName, state: state,
            codes: SignInPage.Codes(
                qrContent: "eyJubWFfZGF0YSI6e30",
                sameDeviceLink: "https://id.example.com/open?dispatchTokenResponse=LINK", typedCode: "ABCDE-FGHJK",
                secondsLeft: 58),
            returnOrigin: "https://bank.example.com")
    }

    static func consent(_ items: [ConsentPage.Item] = [.identity, .email], clientName: String = "Shop") -> ConsentPage {
        ConsentPage(
            requestID: "req_1", client: "c/1", clientName: clientName, returnOrigin: "https://shop.example",
            username: "alice", items: items, confirmation: "token-1")
    }

    @Test("The question what a service may have says who asks, about whom and what, and takes yes or no without script")
    func consentQuestion() throws {
        let page = self.renderer.html(Self.consent(clientName: "<Shop>"))
        #expect(page.html.contains("May <bdi>&lt;Shop&gt;</bdi> have this?"))
        #expect(page.html.contains("<bdi>alice</bdi>") && page.html.contains("https://shop.example"))
        #expect(page.html.matches(of: /<li>/).count == 2 && page.html.contains("<li>your e-mail address</li>"))
        for (name, value) in [("request", "req_1"), ("client", "c/1"), ("confirmation", "token-1")] {
            #expect(page.html.contains("<input type=\"hidden\" name=\"\(name)\" value=\"\(value)\">"))
        }
        for word in ["allow", "deny"] {
            #expect(page.html.contains("<button type=\"submit\" name=\"decision\" value=\"\(word)\""))
        }
        #expect(page.contentSecurityPolicy.description.contains("form-action 'self' https://shop.example;"))
        #expect(!page.html.contains("id=\"sent\""), "no script decides")
        let all = self.renderer.html(Self.consent(ConsentPage.Item.allCases)).html
        let words = all.matches(of: /<li>([^<]*)<\/li>/).map { String($0.1) }
        #expect(words.count == ConsentPage.Item.allCases.count && Set(words).count == words.count)
    }

    /// The page of a person who was named.
    static func asked(_ state: SignInPage.State = .waiting, clientName: String = "Demo Bank") -> SignInPage {
        var page = SignInPage(
            requestID: "req_1/2", clientName: clientName, client: "c/1", state: state,
            returnOrigin: "https://bank.example.com")
        (page.number, page.isAskedByName, page.hasOtherWays) = ("004711", true, true)
        return page
    }

    @Test("Decision 126: the page of a named person has the number in place of codes, and its next try takes a name")
    func number() throws {
        let waiting = try self.renderer.html(Self.asked())
        #expect(waiting.html.contains("<code data-testid=\"number\">004711</code>"))
        #expect(!waiting.html.contains("qr-code") && !waiting.html.contains("data-seconds-left"))
        let again = "href=\"/sign-in/ask?request=req_1%2F2&amp;client=c%2F1\""
        #expect(waiting.html.contains("\(again) data-testid=\"ask-again\""))
        #expect(waiting.html.contains("data-testid=\"confirmed\"") && waiting.html.contains("other-ways"))
        #expect(waiting.html.matches(of: /id="stage"/).count == 1)
        for state in SignInPage.State.allCases where state != .waiting {
            let page = try self.renderer.html(Self.asked(state)).html
            #expect(!page.contains("004711") && page.matches(of: /id="stage"/).count == 1)
        }
        #expect(try self.renderer.html(Self.asked(.expired)).html.contains("\(again) data-testid=\"retry\""))
        let frame = SignInFrame(
            requestID: "req_1/2", clientName: "<Bank>", client: "c/1", returnOrigin: "https://bank.example.com")
        let form = self.renderer.html(AskedPhonePage(frame: frame, username: "\">", hasOtherWays: true))
        #expect(form.html.contains("value=\"&quot;&gt;\"") && form.html.contains("action=\"/sign-in/ask\""))
        #expect(form.contentSecurityPolicy.description.contains("form-action 'self' https://bank.example.com;"))
    }

    func every() throws -> [RenderedPage] {
        let signIns = try SignInPage.State.allCases.map { try self.renderer.html(Self.signIn($0)) }
        let others: [RenderedPage] = [
            self.renderer.html(
                ResultPage(.done, .accepted, target: "/next")),
            self.renderer.html(ErrorPage(.noPage, requestID: "r-17")),
            self.renderer.html(SignedOutPage(returnLink: "https://bank.example.com/bye")),
            self.renderer.html(SignOutQuestionPage(clientName: "Demo Bank")),
            self.renderer.html(
                PostedAnswerPage(
                    address: "https://bank.example.com/in?a=b", origin: "https://bank.example.com",
                    fields: [("code", "c&1"), ("state", "\">")])),
            self.renderer.html(Self.consent()),
            self.renderer.html(OpenInAppPage()), self.renderer.html(AdministratorSetUpPage()),
            self.renderer.html(
                AskedPhonePage(frame: SignInFrame(requestID: "req_1", clientName: "Demo Bank"), username: "alice")),
            try self.renderer.html(Self.asked()), self.renderer.html(DeviceCodePage()),
            self.renderer.html(Self.deviceConfirmation()),
        ]
        return try signIns + others + IdentityPageTests.every(self.renderer)
    }

    static func deviceConfirmation(named name: String = "Demo Bank") -> DeviceConfirmationPage {
        DeviceConfirmationPage(
            requestID: "req_1/2", client: "c/1", code: "ABCDE-23456", clientName: name,
            clientOrigin: "https://bank.example.com", username: "alice", formToken: "token")
    }

    @Test func pageForADevicesCodeIsAFormThatSaysWhatIsWrong() {
        let empty = self.renderer.html(DeviceCodePage()).html
        #expect(empty.contains("<form class=\"entry\" method=\"post\" action=\"/device\">"))
        #expect(empty.contains("name=\"user_code\" value=\"\"") && !empty.contains("role=\"alert\""))
        let wrong = self.renderer.html(DeviceCodePage(code: "ABCDE-23456", isUnknown: true)).html
        #expect(wrong.contains("value=\"ABCDE-23456\"") && wrong.contains("aria-invalid=\"true\""))
        #expect(wrong.contains("aria-describedby=\"problem hint\"") && wrong.contains("id=\"problem\" role=\"alert\""))
    }

    @Test func questionAboutADeviceShowsWhatItIsAboutAndTakesANo() {
        let page = self.renderer.html(Self.deviceConfirmation(named: "A<b>")).html
        #expect(page.contains("data-testid=\"user-code\">ABCDE-23456</code>"))
        #expect(page.contains("data-testid=\"service\"><bdi>A&lt;b&gt;</bdi>"))
        #expect(page.contains("data-testid=\"origin\">https://bank.example.com</dd>"))
        #expect(page.contains("<input type=\"hidden\" name=\"confirmation\" value=\"token\">"))
        for action in ["/device/confirm", "/sign-in/cancel"] {
            #expect(page.contains("<form class=\"actions\" method=\"post\" action=\"\(action)\">"))
        }
        #expect(page.matches(of: /<input type="hidden" name="request" value="req_1\/2">/).count == 2)
    }

    @Test func waitingPageHasTheHooksOfItsThreeCodes() throws {
        let html = try self.renderer.html(Self.signIn(.waiting)).html
        for hook in ["qr-code", "typed-code", "same-device-link", "state", "expires"] {
            #expect(html.matches(of: try Regex("data-testid=\"\(hook)\"")).count == 1, "\(hook)")
        }
        #expect(html.contains("<code data-testid=\"typed-code\">ABCDE-FGHJK</code>"))
        #expect(html.contains("href=\"https://id.example.com/open?dispatchTokenResponse=LINK\""))
        #expect(html.contains("data-seconds-left=\"58\""))
        #expect(html.contains("Sign in to <bdi>Demo Bank</bdi>"))
        let start = try #require(html.firstRange(of: "data-testid=\"qr-code\">")).upperBound
        let drawn = try pixels(ofSVG: String(html[start...]), scale: 4)
        #expect(
            decodedQRCodes(grey: drawn.pixels, width: drawn.side, height: drawn.side) == [
                "eyJubWFfZGF0YSI6e30"
            ])
    }

    @Test func waitingPageWorksWithoutScript() throws {
        let html = try self.renderer.html(Self.signIn(.waiting)).html
        #expect(html.contains("<form method=\"get\" action=\"/sign-in/wait\">"))
        #expect(html.contains("<input type=\"hidden\" name=\"request\" value=\"req_1/2\">"))
        #expect(html.contains("I have confirmed on my phone"))
        #expect(
            html.contains("<a href=\"/sign-in/wait?request=req_1%2F2\" data-testid=\"new-code\">Show a new code</a>"))
    }

    @Test("A posted answer has its fields and a button, is sent by the script, and may go to its service alone")
    func postedAnswer() throws {
        let page = self.renderer.html(
            PostedAnswerPage(
                address: "https://bank.example.com/in?a=b&c=d", origin: "https://bank.example.com",
                fields: [("code", "c&1"), ("state", "\"><script>")]))
        #expect(
            page.html.contains(
                "<form class=\"actions\" method=\"post\" action=\"https://bank.example.com/in?a=b&amp;c=d\" id=\"sent\">"
            ))
        #expect(page.html.contains("<input type=\"hidden\" name=\"code\" value=\"c&amp;1\">"))
        #expect(page.html.contains("name=\"state\" value=\"&quot;&gt;&lt;script&gt;\">"))
        #expect(page.html.matches(of: /<button type="submit"[^>]*>Continue<\/button>/).count == 1)
        #expect(page.html.matches(of: /<script/).count == 1, "the page's own, which stands in a file")
        #expect(page.contentSecurityPolicy.description.contains("script-src 'self';"))
        #expect(page.contentSecurityPolicy.description.contains("form-action 'self' https://bank.example.com;"))
        let question = self.renderer.html(SignOutQuestionPage(clientName: "Demo Bank"))
        #expect(!question.html.contains("id=\"sent\""), "nobody is signed out by a script")
    }

    @Test("How one gets an account stands on the page of those who have none, as long as they can sign in there")
    func enrolment() throws {
        for state in SignInPage.State.allCases {
            var page = Self.signIn(state)
            #expect(try !self.renderer.html(page).html.contains("data-testid=\"enrolment\""))
            for (enrolment, word) in [
                (SignInPage.Enrolment.link, "enrolment link"), (.invitation, "Ask them for an invitation"),
                (.mail("/begin?a=1&b=2"), "href=\"/begin?a=1&amp;b=2\""),
            ] {
                page.enrolment = enrolment
                let html = try self.renderer.html(page).html
                let isThere = html.contains("data-testid=\"enrolment\"")
                #expect(isThere == [.waiting, .claimed].contains(state), "\(state)")
                #expect(html.contains(word) == isThere, "\(state) \(word)")
            }
        }
    }

    @Test func everyAddressOfASignInNamesItsService() throws {
        var page = Self.signIn(.waiting)
        page.client = "c/1"
        let waiting = try self.renderer.html(page).html
        #expect(waiting.contains("href=\"/sign-in/wait?request=req_1%2F2&amp;client=c%2F1\""))
        #expect(waiting.matches(of: /<input type="hidden" name="client" value="c\/1">/).count == 2)
        #expect(waiting.contains("data-client=\"c/1\""))
        page.state = .expired
        #expect(try self.renderer.html(page).html.contains("href=\"/sign-in?request=req_1%2F2&amp;client=c%2F1\""))
        page.state = .approved
        let approved = try self.renderer.html(page).html
        #expect(approved.contains("href=\"/sign-in/complete?request=req_1%2F2&amp;client=c%2F1\""))
    }

    @Test("Every state but waiting hides the codes", arguments: SignInPage.State.allCases.filter { $0 != .waiting })
    func stateHidesTheCodes(state: SignInPage.State) throws {
        let html = try self.renderer.html(Self.signIn(state)).html
        #expect(html.contains("data-testid=\"state\" data-state=\"\(state.rawValue)\""))
        for absent in ["qr-code", "typed-code", "same-device-link", "ABCDE", "dispatchTokenResponse"] {
            #expect(!html.contains(absent), "\(absent)")
        }
    }

    @Test func everyStateSaysSomethingElse() throws {
        let lines = try SignInPage.State.allCases.map { state in
            let html = try self.renderer.html(Self.signIn(state)).html
            return String(try #require(html.firstMatch(of: /role="status"[^>]*>([^<]+)</)).1)
        }
        #expect(Set(lines).count == SignInPage.State.allCases.count)
    }

    @Test func approvedPageLeadsOn() throws {
        let approved = try self.renderer.html(Self.signIn(.approved)).html
        #expect(approved.contains("href=\"/sign-in/complete?request=req_1%2F2\" data-testid=\"continue\""))
        let onDevice = try self.renderer.html(Self.signIn(.approvedOnDevice)).html
        #expect(!onDevice.contains("data-testid=\"continue\""))
    }

    @Test("An end without success offers another try", arguments: [SignInPage.State.denied, .expired, .failed])
    func endOffersAnotherTry(state: SignInPage.State) throws {
        let html = try self.renderer.html(Self.signIn(state)).html
        #expect(html.contains("href=\"/sign-in?request=req_1%2F2\" data-testid=\"retry\""))
    }

    @Test("A sign-in can be left until it has succeeded", arguments: SignInPage.State.allCases)
    func signInCanBeLeft(state: SignInPage.State) throws {
        let html = try self.renderer.html(Self.signIn(state)).html
        let succeeded = [.approved, .approvedOnDevice, .completed].contains(state)
        #expect(
            html.contains("<form class=\"leave\" id=\"leave\" method=\"post\" action=\"/sign-in/cancel\">") != succeeded
        )
        #expect(html.contains("data-testid=\"retry\"") == [.denied, .expired, .failed].contains(state))
    }

    @Test func questionBeforeSigningOutCarriesTheRequestOn() {
        let page = self.renderer.html(
            SignOutQuestionPage(
                clientName: "Demo Bank", fields: [("state", "a\"b"), ("client_id", "c1")],
                returnOrigin: "https://bank.example.com"))
        #expect(page.html.contains("<form class=\"actions\" method=\"post\" action=\"/oauth2/logout\">"))
        #expect(page.html.contains("<input type=\"hidden\" name=\"state\" value=\"a&quot;b\">"))
        #expect(page.html.contains("<input type=\"hidden\" name=\"client_id\" value=\"c1\">"))
        #expect(page.html.contains("Demo Bank asks to end your session"))
        #expect(page.contentSecurityPolicy.formTargets == ["https://bank.example.com"])
        #expect(page.html.contains("<a class=\"button quiet\" href=\"https://bank.example.com/\""))
        #expect(page.html.contains(">Stay signed in</a>"))
        let alone = self.renderer.html(SignOutQuestionPage()).html
        #expect(alone.contains("You are about to end your session"))
        #expect(alone.contains("To stay signed in, close this page.") && !alone.contains("data-testid=\"link\""))
    }

    @Test func pagesHaveOneApostrophe() throws {
        for page in try self.every() {
            let text = page.html.replacing(/<[^>]*>/, with: "")
            #expect(!text.contains("'") && !text.contains("&#39;"), "\(text)")
        }
    }

    /// A result with a name in its headline, its explanation and its link.
    private static func notice(naming name: String) -> Notice {
        .invitationElsewhere(
            Invitation(headline: name, place: nil, operatorName: "Example ID", until: "noon"),
            operatorName: "Example ID", other: nil, home: name)
    }

    @Test func whatThePageShowsIsEscaped() throws {
        let hostile = #"<script>alert("1")</script>&'"#
        var page = Self.signIn(.waiting, clientName: hostile)
        page.requestID = hostile
        page.codes?.sameDeviceLink = "https://a.example/\"><script>"
        page.codes?.typedCode = hostile
        let pages: [String] = [
            try self.renderer.html(page).html,
            self.renderer.html(
                ErrorPage(
                    .anotherBrowser(words: hostile), way: .service(name: hostile, address: hostile),
                    detail: hostile, requestID: hostile)
            ).html,
            try self.renderer.html(
                SignInPage(requestID: "r", clientName: hostile, client: hostile, state: .completed, home: hostile)
            ).html,
            self.renderer.html(
                ResultPage(.refused, Self.notice(naming: hostile), target: hostile)
            ).html,
            self.renderer.html(SignedOutPage(returnLink: hostile)).html,
            PageRenderer(serviceName: hostile, host: hostile, heartbeat: .seconds(15)).html(OpenInAppPage()).html,
        ]
        for html in pages {
            #expect(!html.contains("<script>"))
            #expect(!html.contains("alert(\"1\")"))
            #expect(html.contains("&lt;script&gt;"))
        }
    }

    /// A browser reads scalars: what follows a character must not keep it from being escaped.
    @Test(
        "What joins itself to a character does not keep it from being escaped",
        arguments: [("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\"", "&quot;"), ("'", "&#39;")],
        ["\u{301}", "\u{338}", "\u{200D}", "\u{FE0F}", "\u{20E3}", "\u{E0020}"])
    func joinedScalarIsEscaped(character: (plain: String, escaped: String), mark: String) throws {
        let hostile = "x\(character.plain)\(mark) id=sign-in "
        let renderer = PageRenderer(serviceName: hostile, host: hostile, heartbeat: .seconds(15))
        var waiting = Self.signIn(.waiting, clientName: hostile)
        waiting.requestID = hostile
        waiting.codes?.sameDeviceLink = hostile
        waiting.codes?.typedCode = hostile
        var denied = Self.signIn(.denied, clientName: hostile)
        denied.requestID = hostile
        // Beside the service's name, in the title and the heading of a page, and its host.
        let pages: [(page: RenderedPage, shown: Int)] = [
            // Title, heading, step and button; the link, the typed code, and the request in the card and two forms.
            (try renderer.html(waiting), 9), (try renderer.html(denied), 5),
            (renderer.html(ErrorPage(.anotherBrowser(words: hostile), requestID: hostile)), 4),
            (
                renderer.html(
                    ResultPage(.done, Self.notice(naming: hostile), target: hostile)), 5
            ),
            (renderer.html(SignedOutPage(returnLink: hostile)), 1),
            // The service's name once more.
            (renderer.html(SignOutQuestionPage(clientName: hostile, fields: [(hostile, hostile)])), 4),
            (renderer.html(OpenInAppPage()), 0), (renderer.html(AdministratorSetUpPage()), 0),
        ]
        for (page, shown) in pages {
            let html = Array(page.html.utf8)
            #expect(!html.contains(Array("x\(character.plain)\(mark)".utf8)))
            #expect(html.ranges(of: Array("x\(character.escaped)\(mark) id".utf8)).count == shown + 3)
        }
        let drawn = Array(try QRCode(text: "x").svg(label: hostile).utf8)
        #expect(drawn.contains(Array("aria-label=\"x\(character.escaped)\(mark) id".utf8)))
    }

    @Test func everyPageIsOneDocumentWithoutInlineScriptOrStyle() throws {
        for page in try self.every() {
            #expect(page.html.hasPrefix("<!doctype html>\n<html lang=\"en\">"))
            #expect(!page.html.contains("{{") && !page.html.contains("}}"))
            #expect(page.html.matches(of: /<h1[ >]/).count == 1)
            #expect(page.html.matches(of: /<main\b/).count == 1)
            #expect(page.html.contains("<a class=\"skip\" href=\"#main\">"))
            #expect(page.html.matches(of: /<script/).count == 1)
            let script = /<script src="\/assets\/pages-[A-Za-z0-9_-]{11}\.js" data-heartbeat="15" defer><\/script>/
            #expect(page.html.contains(script))
            #expect(!page.html.contains(/[ ](?:style|on[a-z]+)=|<style/))
            #expect(!page.html.contains("http-equiv"))
        }
    }

    @Test(
        "On every page of a server that shares its host, its own addresses are below its path, and nothing else changes"
    )
    func addressesAreBelowThePath() throws {
        let hostile = #"x" href="/ value=/y action="/"#
        for (page, placed) in zip(
            try self.everyPage(clientName: hostile),
            try PagesTests(
                renderer: PageRenderer(
                    serviceName: "Example ID", host: "id.example.com", path: "/shared/id", heartbeat: .seconds(15))
            ).everyPage(clientName: hostile))
        {
            let own = /( (?:href|src|action|data-tokens)=")(\/)/
            #expect(placed.html.contains(own))
            #expect(placed.html == page.html.replacing(own) { "\($0.output.1)/shared/id/" })
            #expect(placed.contentSecurityPolicy == page.contentSecurityPolicy)
        }
    }

    @Test(
        "A page is in the language that its request asks for, or else in the usual one",
        arguments: [("de", "de"), ("de-CH, en;q=0.5", "de"), ("en, de;q=0.5", "en"), ("fr", "en"), ("", "en")])
    func languages(header: String, language: String) {
        let renderers = PageRenderers(Languages(English(), English(tag: "de"))) { language in
            PageRenderer(serviceName: "Example ID", host: "id.example.com", heartbeat: .seconds(15), language: language)
        }
        let page = renderers.renderer(for: LanguageWishes(acceptLanguage: header)).html(OpenInAppPage())
        #expect(page.html.contains("<html lang=\"\(language)\">"))
        #expect(renderers.files.map(\.path) == renderers.usual.assets.all.map(\.path), "the same script, once")
    }

    private func everyPage(clientName: String) throws -> [RenderedPage] {
        try self.every() + [self.renderer.html(Self.consent(clientName: clientName))]
    }

    @Test func noPageRefersToAnotherHost() throws {
        let pages: [RenderedPage] = [
            self.renderer.html(OpenInAppPage()), self.renderer.html(AdministratorSetUpPage()),
            self.renderer.html(DeviceCodePage()), self.renderer.html(Self.deviceConfirmation()),
            self.renderer.html(ErrorPage(.noPage)),
            try self.renderer.html(Self.signIn(.claimed)),
        ]
        for page in pages {
            let addresses = page.html.matches(of: /(?:src|href|action)="([^"]*)"/).map { String($0.1) }
            #expect(!addresses.isEmpty)
            #expect(addresses.allSatisfy { $0.hasPrefix("/") || $0 == "#main" })
        }
    }

    @Test func policyAllowsOnlyThisServerAndTheWayBack() throws {
        let policy = try self.renderer.html(Self.signIn(.waiting)).contentSecurityPolicy
        #expect(
            policy.description
                == "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
                + "form-action 'self' https://bank.example.com; frame-ancestors 'none'; base-uri 'none'")
        #expect(self.renderer.html(OpenInAppPage()).contentSecurityPolicy.description.contains("form-action 'self';"))
    }

    @Test func appsOwnSchemeIsAWayBack() {
        let policy = ContentSecurityPolicy(formTargets: ["com.example.app:", "http://127.0.0.1:51004"])
        #expect(policy.description.contains("form-action 'self' com.example.app: http://127.0.0.1:51004;"))
    }

    @Test(
        "A form target that is no origin stays out of the policy",
        arguments: [
            "https://a.example; script-src *", "'unsafe-inline'", "*", "https://a.example b", "://x", "", "https:",
            "http:", "data:", "com.example.app", "com.example.app:; script-src *", "com.example.app:/cb", "a.b:c:",
        ])
    func hostileFormTargetStaysOut(target: String) {
        #expect(ContentSecurityPolicy(formTargets: [target]) == ContentSecurityPolicy())
    }

    @Test func assetsAreNamedByTheirContent() {
        let assets = PageAssets()
        #expect(assets.all.map(\.path) == PageAssets().all.map(\.path))
        #expect(Set(assets.all.map(\.path)).count == 3)
        #expect(assets.all.allSatisfy { $0.path.contains(/^\/assets\/[a-z]+-[A-Za-z0-9_-]{11}\.(css|js|svg)$/) })
        #expect(assets.all.allSatisfy { !String(decoding: $0.bytes, as: UTF8.self).contains("http://www.example") })
    }

    @Test func errorPageNamesTheRequestAndNothingElse() {
        let html = self.renderer.html(ErrorPage(.noPage, requestID: "r-17")).html
        #expect(html.contains("data-testid=\"error\""))
        #expect(html.contains("<code>r-17</code>"))
        #expect(
            !self.renderer.html(ErrorPage(.noPage)).html.contains("give this number"))
    }

    @Test func setUpPageExplainsItselfWithoutScript() {
        let html = self.renderer.html(AdministratorSetUpPage()).html
        #expect(html.contains("<noscript>"))
        #expect(html.contains("countersign admin login"))
        #expect(html.contains("data-tokens=\"/admin/v1/tokens\""))
        for answer in ["missing", "spent", "failed"] { #expect(html.contains("data-\(answer)=\"")) }
    }
}
