import CountersignTestKit
import Foundation
import Testing
import UAF
import UAFClient

@Suite("FIDO AppID and Facet Specification 1.1 §3.1.2: whether an app may use an AppID's keys")
struct FacetAuthorizationTests {
    private static let appID = "https://id.example.com/uaf/1.1/facets"
    private static let type = "application/fido.trusted-apps+json"

    /// What was fetched.
    private actor Log {
        var urls: [String] = []
        func note(_ url: URL) { self.urls.append(url.absoluteString) }
    }

    private static func list(_ ids: [String], version: String = #"{"major":1,"minor":1}"#) -> String {
        #"{"trustedFacets":[{"version":\#(version),"ids":[\#(ids.map { "\"\($0)\"" }.joined(separator: ","))]}]}"#
    }

    private static func answer(
        _ body: String, status: Int = 200, type: String? = type, location: String? = nil, authorized: String? = nil
    ) -> FacetListAnswer {
        FacetListAnswer(
            status: status, contentType: type, location: location, redirectAuthorized: authorized,
            body: Array(body.utf8))
    }

    private func authorize(
        _ appID: String = Self.appID, facet: String = Device.facet, fetching answer: FacetListAnswer? = nil
    ) async -> Result<String, OperationFailure> {
        do {
            let facets = FacetAuthorization(facetID: try FacetID(facet)) { _ in
                guard let answer else { throw CocoaError(.fileNoSuchFile) }
                return answer
            }
            return .success(try await facets.authorize(appID: appID, version: .uaf11))
        } catch let error as OperationFailure {
            return .failure(error)
        } catch {
            return .failure(OperationFailure(.unknown, "\(error)"))
        }
    }

    private let refused = Result<String, OperationFailure>.failure(OperationFailure(.untrustedFacetID, ""))

    @Test("An empty AppID stands for the facet, and the facet is trusted with itself, without fetching")
    func ownFacet() async {
        #expect(await self.authorize("") == .success(Device.facet))
        #expect(await self.authorize(Device.facet) == .success(Device.facet))
        #expect(await self.authorize("", facet: "https://app.example") == .success("https://app.example"))
    }

    @Test("A web origin on the AppID's own host is trusted without fetching")
    func sameHost() async {
        for facet in ["https://id.example.com", "https://ID.example.com:8443"] {
            #expect(await self.authorize(facet: facet) == .success(Self.appID))
        }
        #expect(await self.authorize(facet: "https://example.com") == self.refused)
        #expect(await self.authorize(facet: "https://id.example.com.evil.example") == self.refused)
    }

    @Test(
        "An AppID that is neither https nor the facet is refused",
        arguments: ["http://id.example.com/f", "linux:program:other", "id.example.com", "https://"])
    func notHTTPS(appID: String) async {
        let list = Self.answer(Self.list([Device.facet]))
        #expect(await self.authorize(appID, fetching: list) == self.refused)
    }

    @Test(
        "A facet in the list of the message's version is trusted",
        arguments: [
            list([Device.facet]),
            list(["https://id.example.com", "android:apk-key-hash:x", Device.facet]),
            #"{"trustedFacets":[{"version":{"major":1,"minor":0},"ids":["a:b"]},{"version":{"major":1,"minor":1},"ids":["linux:program:test"]}]}"#,
        ])
    func listed(body: String) async {
        #expect(await self.authorize(fetching: Self.answer(body)) == .success(Self.appID))
        let type = "Application/FIDO.trusted-apps+json; charset=utf-8"
        #expect(await self.authorize(fetching: Self.answer(body, type: type)) == .success(Self.appID))
    }

    @Test(
        "A list that does not name the facet for this version, or is no list, refuses it",
        arguments: [
            list([]), list(["linux:program:other"]), list(["linux:program:test/x"]), list(["LINUX:PROGRAM:TEST"]),
            list([Device.facet], version: #"{"major":1,"minor":0}"#), list([Device.facet], version: "1"),
            "", "[]", "{}", "null", #"{"trustedFacets":{}}"#, #"{"trustedFacets":[{"ids":["linux:program:test"]}]}"#,
            #"{"trustedFacets":[{"version":{"major":1,"minor":1},"ids":"linux:program:test"}]}"#,
            #"{"trustedFacets":[],"trustedFacets":[]}"#,
        ])
    func notListed(body: String) async {
        #expect(await self.authorize(fetching: Self.answer(body)) == self.refused)
    }

    @Test("A failed fetch, another status and another content type refuse")
    func failedFetch() async {
        let list = Self.list([Device.facet])
        #expect(await self.authorize(fetching: nil) == self.refused)
        for status in [204, 304, 400, 404, 500] {
            #expect(await self.authorize(fetching: Self.answer(list, status: status)) == self.refused)
        }
        for type in ["application/json", "text/html", "application/fido.trusted-apps", nil] {
            #expect(await self.authorize(fetching: Self.answer(list, type: type)) == self.refused)
        }
    }

    @Test("A web origin of another host is not trusted by the list, as that would need the public suffix list")
    func foreignHost() async {
        let list = Self.answer(Self.list(["https://app.example.com"]))
        #expect(await self.authorize(facet: "https://app.example.com", fetching: list) == self.refused)
        let insecure = Self.answer(Self.list(["http://id.example.com"]))
        #expect(await self.authorize(facet: "http://id.example.com", fetching: insecure) == self.refused)
    }

    @Test("A redirect is followed only with the header, over https, on the same host, and not for ever")
    func redirects() async throws {
        let list = Self.list([Device.facet])
        func run(_ location: String?, _ authorized: String?, hops: Int = 1) async -> (String?, [String]) {
            let log = Log()
            let facets = FacetAuthorization(facetID: try! FacetID(Device.facet)) { url in
                await log.note(url)
                return await log.urls.count <= hops
                    ? Self.answer("", status: 302, location: location, authorized: authorized) : Self.answer(list)
            }
            return (try? await facets.authorize(appID: Self.appID, version: .uaf11), await log.urls)
        }
        let followed = await run("/moved", "true")
        #expect(followed.0 == Self.appID)
        #expect(followed.1 == [Self.appID, "https://id.example.com/moved"])
        #expect(await run("https://id.example.com/moved", "True").0 == Self.appID)
        #expect(await run("/moved", "true", hops: 3).0 == Self.appID)
        #expect(await run("/moved", "true", hops: 4).0 == nil)
        for (location, authorized) in [
            ("/moved", nil), ("/moved", "false"), (nil, "true"), ("http://id.example.com/moved", "true"),
            ("https://evil.example/moved", "true"), ("https://id.example.com.evil.example/", "true"),
        ] as [(String?, String?)] {
            let result = await run(location, authorized)
            #expect(result.0 == nil)
            #expect(result.1.count == 1)
        }
    }

    @Test("A cancelled fetch is a cancellation, not a refusal")
    func cancelled() async throws {
        let facets = FacetAuthorization(facetID: try FacetID(Device.facet)) { _ in throw CancellationError() }
        await #expect(throws: CancellationError.self) {
            _ = try await facets.authorize(appID: Self.appID, version: .uaf11)
        }
    }
}

@Suite("UAF Application API 1.1 and ASM API 1.1: every status has one code (reference 5.3)")
struct CommandStatusTests {
    @Test(
        "An authenticator's status becomes the module's, and that becomes the client's",
        arguments: [
            (CommandStatus.ok, ASMStatusCode.ok, ASMStatusCode.ok, ErrorCode.noError, ErrorCode.noError),
            (.errorUnknown, .error, .error, .unknown, .unknown),
            (.accessDenied, .accessDenied, .accessDenied, .authenticatorAccessDenied, .authenticatorAccessDenied),
            (.userNotEnrolled, .userNotEnrolled, .accessDenied, .userNotEnrolled, .authenticatorAccessDenied),
            (
                .cannotRenderTransactionContent, .cannotRenderTransactionContent, .cannotRenderTransactionContent,
                .invalidTransactionContent, .invalidTransactionContent
            ),
            (.userCancelled, .userCancelled, .userCancelled, .userCancelled, .userCancelled),
            (.commandNotSupported, .error, .error, .unknown, .unknown),
            (.attestationNotSupported, .error, .error, .unknown, .unknown),
            (.parametersInvalid, .error, .error, .unknown, .unknown),
            (
                .keyDisappearedPermanently, .keyDisappearedPermanently, .keyDisappearedPermanently,
                .keyDisappearedPermanently, .keyDisappearedPermanently
            ),
            (.timeout, .error, .error, .unknown, .unknown),
            (.userNotResponsive, .userNotResponsive, .userNotResponsive, .userNotResponsive, .userNotResponsive),
            (
                .insufficientResources, .insufficientAuthenticatorResources, .insufficientAuthenticatorResources,
                .insufficientAuthenticatorResources, .insufficientAuthenticatorResources
            ),
            (.userLockout, .userLockout, .userLockout, .userLockout, .userLockout),
            (CommandStatus(rawValue: 0x77), .error, .error, .unknown, .unknown),
        ])
    func mapping(
        status: CommandStatus, register: ASMStatusCode, sign: ASMStatusCode, registerCode: ErrorCode,
        signCode: ErrorCode
    ) {
        #expect(status.asmStatus(of: .register) == register)
        #expect(status.asmStatus(of: .sign) == sign)
        #expect(register.errorCode == registerCode)
        #expect(sign.errorCode == signCode)
    }

    @Test("Deregistering with an authenticator that keeps no handles is done by the module alone")
    func deregister() {
        #expect(CommandStatus.commandNotSupported.asmStatus(of: .deregister) == .ok)
        #expect(CommandStatus.errorUnknown.asmStatus(of: .deregister) == .error)
    }
}
