import Countersign
import CountersignNames
import CountersignTestKit
import Foundation
import Testing

@Suite("CountersignNames: the names that documentation prints")
struct CountersignNamesTests {
    private static let types: [(name: String, former: Any.Type, present: Any.Type)] = [
        ("AppStorage", (any AppStorage).self, (any SignInStorage).self),
        ("WebView", (any WebView).self, (any SignInWebView).self),
        ("WebAuthenticationSession", (any WebAuthenticationSession).self, (any PreparedWebAuthentication).self),
        ("Transaction", Transaction.self, UAFTransaction.self),
        ("Configuration", Configuration.self, ClientConfiguration.self),
        ("Platform", Platform.self, DevicePlatform.self),
        ("Role", Role.self, RequestedRole.self),
        ("Account", Account.self, RegisteredAccount.self),
        ("LockoutAttemptInformation", LockoutAttemptInformation.self, LockoutInformation.self),
        ("PendingLockoutInformation", PendingLockoutInformation.self, LockoutInformation.self),
        (
            "PinAuthenticatorProtectionStatus", PinAuthenticatorProtectionStatus.self,
            AuthenticatorProtectionStatus.self
        ),
        (
            "PasswordAuthenticatorProtectionStatus", PasswordAuthenticatorProtectionStatus.self,
            AuthenticatorProtectionStatus.self
        ),
    ]

    @Test("Each name is the type of Countersign")
    func names() {
        for pair in Self.types {
            #expect(ObjectIdentifier(pair.former) == ObjectIdentifier(pair.present), "\(pair.name)")
        }
    }

    @Test("A member by its printed spelling is the member of Countersign")
    func members() throws {
        let address = try #require(URL(string: "https://id.example.com/a"))
        let other = try #require(URL(string: "https://id.example.com/b"))
        var configuration = Configuration(baseUrl: address)
        #expect(configuration == ClientConfiguration(baseURL: address) && configuration.baseUrl == address)
        configuration.baseUrl = other
        configuration.facetId = "linux:program:x"
        configuration.networkTimeoutInSeconds = 7
        configuration.userInteractionTimeoutInSeconds = 8
        #expect(configuration.baseURL == other && configuration.facetID == "linux:program:x")
        #expect(configuration.networkTimeout == .seconds(7) && configuration.userInteractionTimeout == .seconds(8))
        #expect(configuration.networkTimeoutInSeconds == 7 && configuration.userInteractionTimeoutInSeconds == 8)
        configuration.networkTimeout = .milliseconds(1)
        configuration.userInteractionTimeout = .milliseconds(2001)
        #expect(configuration.networkTimeoutInSeconds == 1 && configuration.userInteractionTimeoutInSeconds == 3)
        configuration.authenticationRetryIntervalInSeconds = 9
        #expect(configuration.authenticationRetryInterval == .seconds(9))
        configuration.authenticationRetryInterval = .milliseconds(1001)
        #expect(configuration.authenticationRetryIntervalInSeconds == 2)
        let device = DeviceInformation(
            name: "Phone", pushAddress: nil, isPushEnabled: true, deviceID: "id", accountIdentifiers: [])
        #expect(device.deviceId == "id")
        #expect(
            RetryPolicy.constant(maxRetries: 3, delayInSeconds: 2) == .constant(maxRetries: 3, delay: .seconds(2)))
        #expect(
            RetryPolicy.exponential(
                maxRetries: 3, initialDelayInSeconds: 1, multiplier: 2, maximumDelayInSeconds: 8)
                == .exponential(maxRetries: 3, initialDelay: .seconds(1), multiplier: 2, maximumDelay: .seconds(8)))
        let data = try OutOfBandPayload.RedeemData(token: "a-token", redeemURL: other)
        #expect(data.redeemUrl == other)
        let server = Account.Server(baseUrl: address)
        #expect(server == RegisteredAccount.Server(baseURL: address) && server.baseUrl == address)
        #expect(MetaData.applicationFacetId == MetaData.applicationFacetID)
        #expect(FidoErrorCode.untrustedFacetId == .untrustedFacetID)
    }
}
