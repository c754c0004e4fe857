import AuthenticationServices
import Countersign
import CountersignApple
import CountersignScreens
import Foundation
import SwiftUI

/// Asks the person on the screens of the kit, until the operation is over.
@MainActor
func answer(_ authentication: OutOfBandAuthentication, on questions: ScreenQuestions) async throws {
    defer { questions.cancel() }
    _ =
        try await authentication
        .accountSelector(questions)
        .authenticatorSelector(questions)
        .transactionConfirmer(questions)
        .numberMatcher(questions)
        .pinUserVerifier(questions)
        .fingerprintUserVerifier(questions)
        .biometricUserVerifier(questions)
        .devicePasscodeUserVerifier(questions)
        .execute()
}

@MainActor
struct PhoneScreen: View {
    let questions: ScreenQuestions

    var body: some View {
        let messages = MessageCatalogue.standard.language(for: Locale.preferredLanguages)
        ScreenQuestionView(self.questions, language: ScreenLanguage(messages))
    }
}

@main
struct PhoneApp: App {
    @State private var questions = ScreenQuestions(now: { Date.now })

    var body: some Scene {
        WindowGroup { PhoneScreen(questions: self.questions) }
    }
}

func makeSignIn(over anchor: @escaping @MainActor @Sendable () -> ASPresentationAnchor) async throws -> SignIn {
    let configuration = SignInConfiguration(
        baseURL: URL(string: "https://id.example.com")!,
        clientID: "health",
        redirectURI: "com.example.health:/signed-in")
    return try await SignIn(configuration, platform: try SignInPlatform.apple(anchor: anchor))
}

/// Tells the servers of all accounts the token that the app's delegate got.
func pushTokenArrived(_ token: Data, at client: MobileAuthenticationClient) async throws {
    try await client.operations.deviceInformationChange
        .pushAddress(.applePushNotificationService(deviceToken: token))
        .execute()
}
