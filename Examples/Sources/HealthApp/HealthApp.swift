import Countersign
import Foundation

/// The app's display and its question to the person.
protocol HealthScreen: Sendable {
    func show(_ place: HealthApp.Place) async
    func say(_ sentence: String) async
    func wantsFingerNextTime() async -> Bool
}

/// The health app: the actions at the app's start and behind its buttons.
struct HealthApp: Sendable {
    /// A screen of the app.
    enum Place: Equatable, Sendable {
        /// The button to sign in; if `fields` is `true`, with fields for a name and a password.
        case signIn(fields: Bool)
        /// The screen of a signed-in person.
        case home
    }

    let signIn: SignIn
    let screen: any HealthScreen
    /// The site whose pages the app shows; `nil` for an app without pages.
    let site: URL?
    /// The fields for a name and a password, for an app with such fields.
    let fields: PasswordForm

    init(signIn: SignIn, screen: any HealthScreen, site: URL?) {
        self.signIn = signIn
        self.screen = screen
        self.site = site
        self.fields = PasswordForm(signIn)
    }
}

extension HealthApp {
    func appOpens() async {
        await self.trying {
            switch try self.signIn.kept {
            case .session, .guardedSession:
                try await self.signIn.restore(prompt: SystemPrompt(reason: "Open your records"))
            case .guardedPassword:
                try await self.signIn.withSavedPassword(prompt: SystemPrompt(reason: "Sign in"))
            case .nothing:
                if let interruption = try self.signIn.interruption { throw interruption }
            }
        }
    }
}

extension HealthApp {
    func signInTapped() async {
        await self.trying { try await self.signIn.withBrowser { await self.screen.wantsFingerNextTime() } }
    }
}

extension HealthApp {
    func fieldsSubmitted() async {
        guard await self.fields.canSubmit else { return }
        await self.fields.submit { await self.screen.wantsFingerNextTime() }
        if let message = await self.fields.message { await self.screen.say(message) }
        await self.showPlace(withFields: true)
    }
}

extension HealthApp {
    func pageTapped(_ path: String, title: String, isPersonal: Bool) async {
        guard let site else { return }
        await self.trying {
            let page = site.appending(path: path)
            var opened = try await self.signIn.webView(page, displayTitle: title, useSSO: isPersonal)
            if opened.failure?.code == .networkError {
                await self.screen.say("The page has not loaded. It is tried once more.")
                opened = try await self.signIn.reload(opened)
            }
            if isPersonal, let failure = opened.failure {
                await self.screen.say("You are not signed in on this page. \(failure.recoverySuggestion ?? "")")
            }
        }
    }
}

extension HealthApp {
    func fingerSwitched(_ isOn: Bool) async {
        await self.trying { try await self.signIn.setBiometrics(isOn) }
    }
}

extension HealthApp {
    func signOutTapped() async {
        await self.trying {
            guard try await !self.signIn.signOut() else { return }
            await self.screen.say("You are signed out here. The server hears of it when the network is back.")
        }
    }
}

extension HealthApp {
    /// Does a button's action, reports an error, and then shows the right screen.
    private func trying(_ action: () async throws -> Void) async {
        var fields = false
        do {
            try await action()
        } catch let error as SignInError where error.code == .cancelled {
            // The person gave up. The kept session or password stays, and the app says nothing.
        } catch let error as SignInError {
            fields = error.code == .wrongCredentials
            await self.screen.say(
                [error.errorDescription, error.recoverySuggestion].compactMap(\.self).joined(separator: " "))
        } catch {
            await self.screen.say("That did not work. Try again.")
        }
        await self.showPlace(withFields: fields || self.site == nil)
    }

    private func showPlace(withFields: Bool) async {
        await self.screen.show(self.signIn.isSignedIn ? .home : .signIn(fields: withFields))
    }
}
