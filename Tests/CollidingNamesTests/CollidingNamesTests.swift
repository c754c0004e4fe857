import Countersign
import CountersignTestKit
import Foundation
import FrameworkNames
import Testing

/// An app that imports frameworks whose types have names that `Countersign` had too: it says none of them with its module.
private struct AnApp {
    @AppStorage("colour") var colour = "blue"
    let view: WebView
    let session: WebAuthenticationSession
    let transaction: Transaction
    let configuration: Configuration
    let platform: Platform
    let role: Role
    let account: Account

    init() {
        self.view = WebView()
        self.session = WebAuthenticationSession()
        self.transaction = Transaction()
        self.configuration = Configuration()
        self.platform = Platform()
        self.role = Role()
        self.account = Account()
    }
}

@Suite("An app keeps the names of its frameworks beside Countersign")
struct CollidingNamesTests {
    @Test("Names without a module are the frameworks'")
    func frameworks() {
        let app = AnApp()
        #expect(app.colour == "blue")
        #expect(
            [
                app.view.framework, app.session.framework, app.transaction.framework, app.configuration.framework,
                app.platform.framework, app.role.framework, app.account.framework,
            ] == ["WebKit", "AuthenticationServices", "StoreKit", "SwiftUI", "Platform", "Role", "Accounts"])
    }

    @Test("The SDK's types have names of their own there")
    func ownNames() throws {
        let address = try #require(URL(string: "https://id.example.com"))
        var configuration = ClientConfiguration(baseURL: address)
        configuration.networkTimeout = .milliseconds(1500)
        #expect(configuration.networkTimeout == .milliseconds(1500))
        let account = RegisteredAccount(username: "alice", server: RegisteredAccount.Server(baseURL: address))
        #expect(account.server.baseURL == address)
        let storage: any SignInStorage = InMemoryStorage()
        _ = DevicePlatform(storage: InMemoryStorage(), clock: FakeClock())
        #expect(storage is InMemoryStorage)
        #expect(UAFTransaction(content: [65]).content == [65])
        let role: (RequestedRole) -> String = { $0.name }
        let view: ((any SignInWebView) -> Void)? = nil
        let session: ((any PreparedWebAuthentication) -> String)? = nil
        _ = role
        #expect(view == nil && session == nil)
    }
}
