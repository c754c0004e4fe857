import ArgumentParser
import Countersign
import CountersignLinux
import Foundation
import UAFClient
import _Primitives

/// `countersign-phone sign-in`: signs in to an app on this phone.
struct SignInCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign-in", abstract: "Sign in to an app on this phone.",
        discussion: """
            What is kept is used first: a session, or a name and a password, behind the simulated finger (`sensor`). \
            Otherwise the browser is the way, or --password for an app of the server's operator. --server and the app's \
            name are remembered.
            """)

    @Option(help: "The app's client id.")
    var clientId: String?

    @Option(help: "The app's name at the sign-in service, in the place of --client-id.")
    var application: String?

    @Option(help: "The app's registered loopback address; with --application with its port, else without one.")
    var redirectUri = "http://127.0.0.1/signed-in"

    @Option(help: "The web site's name at the sign-in service, for `webview`.")
    var webApplication: String?

    @Option(help: "A host of the web site, for `webview`; may be given several times.")
    var webHost: [String] = []

    @Option(help: "What the names of the web site's cookies begin with.")
    var cookiePrefix: String?

    @Flag(help: "Sign in with the browser, whatever is kept.")
    var browser = false

    @Option(help: "Sign in with this name and a password, which --password-stdin reads or the keyboard.")
    var password: String?

    @Flag(help: "Read the password from the first line of the standard input, and a code from the second.")
    var passwordStdin = false

    @Flag(inversion: .prefixedNo, help: "Whether the (simulated) finger is to open it next time.")
    var biometric: Bool?

    @Flag(help: "Keep the app's key in this session's Secret Service, such as GNOME Keyring, where there is one.")
    var secretService = false

    @OptionGroup var phone: PhoneOptions

    func validate() throws {
        if self.browser && self.password != nil {
            throw ValidationError("--browser and --password exclude each other.")
        }
    }

    func run() async throws {
        let report = Report(isJSON: self.phone.json, language: self.phone.messageLanguage)
        try await report.running {
            let setup = try await self.setup(report)
            let app = try await SignInDevice(setup, self.phone, report: report, show: Self.show(report)).start()
            try setup.write(home: self.phone.homePath)
            let offer: SignIn.BiometricOffer = { [biometric] in await Self.offer(biometric, report) }
            if let username = self.password {
                try await self.signIn(app, as: username, offer, report)
            } else if self.browser {
                try await app.withBrowser(offeringBiometrics: offer)
            } else {
                switch try app.kept {
                case .session, .guardedSession: try await app.restore(prompt: Self.prompt(report))
                case .guardedPassword: try await app.withSavedPassword(prompt: Self.prompt(report))
                case .nothing: try await app.withBrowser(offeringBiometrics: offer)
                }
            }
            // Orders that are under way when a program ends are not sent, so the program waits for them.
            try? await app.sendOrders()
            report.say([
                "event": .string("finished"), "outcome": .outcome(.signedIn), "kept": .string("\(try app.kept)"),
            ]) {
                $0.success("You are signed in.")
            }
        }
    }

    /// Returns the given settings, completed by the remembered settings.
    private func setup(_ report: Report) async throws -> SignInDevice.Setup {
        let known = SignInDevice.Setup.read(home: self.phone.homePath)
        guard let server = try self.phone.serverAddress()?.text ?? known?.server else {
            throw Refusal.usage("Name the server: --server.")
        }
        var setup = SignInDevice.Setup(server: server, redirectURI: self.redirectUri)
        let isNamed = self.clientId != nil || self.application != nil
        setup.clientID = isNamed ? self.clientId : known?.clientID
        setup.application = isNamed ? self.application : known?.application
        setup.webApplication = self.webApplication ?? known?.webApplication
        setup.webHosts = self.webHost.isEmpty ? known?.webHosts ?? [] : self.webHost
        setup.cookiePrefix = self.cookiePrefix ?? known?.cookiePrefix
        // A wrong configuration must leave nothing behind.
        _ = try setup.configuration()
        setup.keyring = known?.keyring
        if self.secretService, known?.keyring == nil { setup.keyring = try await self.keyring(known, report) }
        return setup
    }

    /// Returns the name of the app's key in the keyring. The place of the key does not change while the app's store
    /// exists.
    private func keyring(_ known: SignInDevice.Setup?, _ report: Report) async throws -> String? {
        guard known == nil else {
            throw Refusal.usage("The app of this phone has its key in a file. After `wipe` it can be in the keyring.")
        }
        let keyring = try await SignInDevice.newKeyring(self.phone)
        if keyring == nil {
            report.say(["event": .string("no-secret-service")]) {
                $0.print("This session has no Secret Service: the app's key is kept in a file.")
            }
        }
        return keyring
    }

    private func signIn(
        _ app: SignIn, as username: String, _ offer: @escaping SignIn.BiometricOffer, _ report: Report
    ) async throws {
        let isRead = self.passwordStdin
        func typed(_ prompt: String) async throws -> String? {
            guard !isRead else { return readLine(strippingNewline: true) }
            guard report.terminal.isInteractive else {
                throw Refusal.usage("Without a terminal, say --password-stdin.")
            }
            return try await report.terminal.readSecret(prompt)
        }
        guard let password = try await typed("Password: ") else {
            throw Refusal(.refused, .denied, "denied", "No password was typed.")
        }
        try await app.withPassword(
            username: username, password: password, offeringBiometrics: offer,
            secondFactor: { question in
                if question.lastError != nil {
                    report.say(["event": .string("wrong-code"), "triesLeft": .integer(Int64(question.triesLeft))]) {
                        $0.print("That code was wrong. You can type \(question.triesLeft) more.")
                    }
                }
                guard !isRead else { return readLine(strippingNewline: true) }
                return try? await report.terminal.readSecret("Code of your authenticator app: ")
            })
    }

    /// Announces the simulated prompt of the operating system.
    static func prompt(_ report: Report) -> SystemPrompt {
        let reason = "Sign in to the app"
        report.say(["event": .string("finger"), "reason": .string(reason), "simulated": .bool(true)]) {
            $0.print("The simulated sensor is asked for a finger: \(reason)")
        }
        return SystemPrompt(reason: reason)
    }

    private static func offer(_ given: Bool?, _ report: Report) async -> Bool {
        if let given { return given }
        guard report.terminal.isInteractive else { return false }
        return (try? await report.terminal.confirm("Use the (simulated) finger to sign in next time?")) ?? false
    }

    /// Shows the address to the person at the terminal or to the reader of the program's lines, and opens the address.
    static func show(_ report: Report) -> @Sendable (URL) throws -> Void {
        { url in
            report.say(["event": .string("browser"), "address": .string(url.absoluteString)]) {
                $0.print("Open this address in your browser: \(url.absoluteString)")
            }
        }
    }
}

/// The app as the last `sign-in` has left it.
private struct KnownApp {
    let phone: PhoneOptions
    let report: Report
    /// The windows for the app's pages; `nil` for the terminal.
    var windows: ChromiumWebViews?

    func start() async throws -> SignIn {
        guard let setup = SignInDevice.Setup.read(home: self.phone.homePath) else {
            throw Refusal.notFound("no-such-app", "No app of this phone has been signed in to: `sign-in` first.")
        }
        let app = try await SignInDevice(
            setup, self.phone, report: self.report, windows: self.windows, show: SignInCommand.show(self.report)
        ).start()
        // Orders that are under way when a program ends are not sent, so the program waits for them.
        try? await app.sendOrders()
        return app
    }

    /// Returns the app, signed in with the stored session or password.
    func signedIn() async throws -> SignIn {
        let app = try await self.start()
        if try app.kept == .guardedPassword {
            try await app.withSavedPassword(prompt: SignInCommand.prompt(self.report))
        } else {
            try await app.restore(
                prompt: try app.kept == .guardedSession ? SignInCommand.prompt(self.report) : SystemPrompt())
        }
        return app
    }
}

/// `countersign-phone session`: shows the stored data of a sign-in.
struct SessionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "session", abstract: "Show what the app keeps of a sign-in. Nobody is asked.")

    @OptionGroup var phone: PhoneOptions

    func run() async throws {
        let report = Report(isJSON: self.phone.json, language: self.phone.messageLanguage)
        try await report.running {
            let app = try await KnownApp(phone: self.phone, report: report).start()
            let (kept, wanted) = (try app.kept, try app.wantsBiometrics)
            var members: JSONObject = ["event": .string("session"), "kept": .string("\(kept)")]
            members["wantsBiometrics"] = wanted.map(JSON.bool)
            report.say(members) { terminal in
                switch kept {
                case .nothing: terminal.print("Nothing is kept.")
                case .session: terminal.print("A session is kept, and opens without a question.")
                case .guardedSession: terminal.print("A session is kept behind the simulated finger.")
                case .guardedPassword: terminal.print("A name and a password are kept behind the simulated finger.")
                }
            }
        }
    }
}

/// `countersign-phone webview`: opens a page of the service's site, signed in.
struct WebViewCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "webview", abstract: "Open a page in a web view of the app, signed in.",
        discussion: """
            The page is fetched as the view would, and its status is shown, not the page. With --chromium it opens in a window \
            of that browser's, with a profile of its own, until the window is closed.
            """)

    @Argument(help: "The page: https, of a host that `sign-in --web-host` has named.")
    var url: String

    @Option(help: "What stands above the page.")
    var title = "Web"

    @Flag(inversion: .prefixedNo, help: "Whether the page is to be signed in.")
    var sso = true

    @Option(help: ArgumentHelp("Open a window of that Chromium, and wait until it is closed.", valueName: "program"))
    var chromium: String?

    @OptionGroup var phone: PhoneOptions

    func run() async throws {
        let report = Report(isJSON: self.phone.json, language: self.phone.messageLanguage)
        try await report.running {
            guard let page = URL(string: self.url), page.host() != nil else {
                throw Refusal.usage("That is not the address of a page.")
            }
            let windows = self.chromium.map { ChromiumWebViews(program: $0) }
            let known = KnownApp(phone: self.phone, report: report, windows: windows)
            let app = self.sso ? try await known.signedIn() : try await known.start()
            let opened = try await app.webView(page, displayTitle: self.title, useSSO: self.sso)
            if let windows {
                report.say([
                    "event": .string("window"), "title": .string(self.title), "signedIn": .bool(opened.isSignedIn),
                ]) { $0.print("\(self.title) is open in a window.") }
                await windows.untilClosed()
            }
            if let failure = opened.failure { throw failure }
            report.say([
                "event": .string("finished"), "outcome": .outcome(.opened), "signedIn": .bool(opened.isSignedIn),
            ]) { $0.success(opened.isSignedIn ? "The page is signed in." : "The page is open, and not signed in.") }
        }
    }
}

/// `countersign-phone sign-out`: signs out of the app.
struct SignOutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign-out", abstract: "Sign out of the app, here and at the server.",
        discussion: """
            A session behind the finger is opened first, so that it can be named to the server; where that fails, \
            everything is deleted here all the same. What the server could not be told it hears at the next command; a \
            session that nobody opened ends there by itself.
            """)

    @OptionGroup var phone: PhoneOptions

    func run() async throws {
        let report = Report(isJSON: self.phone.json, language: self.phone.messageLanguage)
        try await report.running {
            let app = try await KnownApp(phone: self.phone, report: report).start()
            if [.session, .guardedSession].contains(try app.kept) {
                try? await app.restore(
                    prompt: try app.kept == .guardedSession ? SignInCommand.prompt(report) : SystemPrompt())
            }
            let isTold = try await app.signOut()
            report.say([
                "event": .string("finished"), "outcome": .outcome(.signedOut), "serverKnows": .bool(isTold),
            ]) {
                $0.success(
                    isTold
                        ? "You are signed out."
                        : "You are signed out here. What could be named to the server is told to it at the next command."
                )
            }
        }
    }
}
