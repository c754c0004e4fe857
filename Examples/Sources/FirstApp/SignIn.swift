import Countersign
import CountersignLinux
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

func makeSignIn(folder: String, sensor: any BiometricSensor) async throws -> SignIn {
    let storage = try AppFileStorage(directory: folder + "/sign-in")
    let platform = SignInPlatform(
        storage: storage,
        installation: FileInstallationMark(path: folder + "/app/installed"),
        webAuthentication: LoopbackBrowser(),
        biometricKeys: SensorGuardedKeys(storage: storage, sensor: sensor),
        clock: try LinuxDeviceClock())
    let configuration = SignInConfiguration(
        baseURL: URL(string: "https://id.example.com")!,
        clientID: "health",
        redirectURI: "http://127.0.0.1/signed-in")
    return try await SignIn(configuration, platform: platform)
}

func openStorage(folder: String, mayAsk: Bool) async throws -> any SignInStorage {
    do {
        return try await SecretServiceStorage(
            application: "com.example.health", directory: folder + "/sign-in-by-keyring", mayAsk: mayAsk)
    } catch let error as StorageError where error.code == .unsupported {
        return try AppFileStorage(directory: folder + "/sign-in")
    }
}

/// The app's display and its question to the person during a sign-in.
protocol SignInScreen: Sendable {
    func wantsFingerNextTime() async -> Bool
    func show(_ sentence: String) async
    func showFields() async
}

func open(_ signIn: SignIn, on screen: any SignInScreen) async throws {
    do {
        switch try signIn.kept {
        case .session, .guardedSession:
            try await signIn.restore(prompt: SystemPrompt(reason: "Open your records"))
        case .guardedPassword:
            try await signIn.withSavedPassword(prompt: SystemPrompt(reason: "Sign in"))
        case .nothing:
            try await signIn.withBrowser { await screen.wantsFingerNextTime() }
        }
    } catch let error as SignInError where error.code == .cancelled {
        // The kept session or password stays, and the app shows the same screen as before.
    } catch let error as SignInError {
        await screen.show([error.errorDescription, error.recoverySuggestion].compactMap(\.self).joined(separator: " "))
        if error.code == .wrongCredentials { await screen.showFields() }
    }
}

func records(of signIn: SignIn) async throws -> Data {
    let url = URL(string: "https://health.example.com/records")!
    var request = URLRequest(url: url)
    for field in try await signIn.authorization(method: "GET", url: url) {
        request.setValue(field.value, forHTTPHeaderField: field.name)
    }
    return try await URLSession.shared.data(for: request).0
}

func openRecords(with signIn: SignIn, on screen: any SignInScreen) async throws {
    let page = URL(string: "https://www.health.example.com/records")!
    let opened = try await signIn.webView(page, displayTitle: "Your records", useSSO: true)
    if !opened.isSignedIn { await screen.show("You are not signed in on this page.") }
}

func leave(_ signIn: SignIn, on screen: any SignInScreen) async throws {
    guard try await !signIn.signOut() else { return }
    await screen.show("You are signed out here. The server hears of it when the network is back.")
}
