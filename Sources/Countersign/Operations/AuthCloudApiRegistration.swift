import Ceremony
import UAF
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A registration with the answer that a service's back end got when it asked the server for an enrolment, or with the
/// link of this answer. The token determines the person. Configure the operation and execute it once.
///
/// Give exactly one of ``OperationBuilder/enrollResponse(_:)`` and ``OperationBuilder/appLinkUri(_:)``. The operation
/// redeems the token of the link, and registers as an ``OutOfBandRegistration``.
public struct AuthCloudApiRegistration: RegistrationOperation {
    fileprivate enum Input {
        case enrollResponse(String)
        case appLinkUri(String)
    }

    private let core: ClientCore
    private let once = OneShot()
    fileprivate var inputs: [Input] = []
    /// The screens, used by the SDK only.
    public var screens = Screens()
    /// The settings of the requests, used by the SDK only.
    public var requestOptions = RequestOptions()

    init(core: ClientCore) { self.core = core }

    /// Registers the person. Unless the server has accepted the key, no key is left on the device.
    ///
    /// Throws ``OperationError``: `missingInteraction` unless exactly one input is given, `malformedPayload` for an
    /// input without the link of an enrolment, and `decryptionError` for a payload that no key of this device opens. In
    /// these cases nothing was sent. A link that was used is `tokenAlreadyRedeemed`, and a link whose time is over
    /// `tokenExpired`.
    public func perform() async throws(OperationError) -> RegistrationResult {
        guard self.once.take() else { throw OperationError(.operationReused) }
        guard self.inputs.count == 1 else {
            throw OperationError(.missingInteraction, "not exactly one of enrollResponse and appLinkUri")
        }
        do {
            var operation = OutOfBandOperation(core: self.core).payload(try await self.payload(of: self.inputs[0]))
            operation.requestOptions = self.requestOptions
            switch try await operation.execute() {
            case .registration(var registration):
                registration.screens = self.screens
                return try await registration.perform()
            case .authentication(let authentication):
                await authentication.decline()
                throw OperationError.fido(.protocolError, "the link is of an authentication")
            case .deregistration: throw OperationError.fido(.protocolError, "the link is of a deregistration")
            }
        } catch {
            throw OperationError(translating: error)
        }
    }

    private func payload(of input: Input) async throws -> OutOfBandPayload {
        let link =
            switch input {
            case .enrollResponse(let text): try Self.link(inEnrollResponse: text)
            case .appLinkUri(let link): link
            }
        let payload: OutOfBandPayload
        do { payload = try await OutOfBandPayloadDecode(core: self.core).link(link).perform() } catch {
            throw OperationError(error)
        }
        // The redemption of another token would carry out another operation: a deregistration deletes keys.
        let configuration = self.core.configuration
        for path in [configuration.authenticationRedeemPath, configuration.deregistrationRedeemPath]
        where configuration.address(path)?.path().hasSameBytes(as: payload.redeemData.redeemURL.path()) ?? false {
            throw OperationError(.malformedPayload, "the link is not of an enrolment")
        }
        return payload
    }

    /// The limits of an answer. An answer can hold a picture.
    private static let limits = JSONLimits(bytes: 262_144, depth: 8, values: 256)

    /// Returns the link of an answer: `enrollment.appLinkUri` of a cloud, or `link` of this product's server. Other
    /// members do not matter.
    private static func link(inEnrollResponse text: String) throws(OperationError) -> String {
        do {
            guard case .object(let answer) = try JSON(parsing: text.utf8, limits: Self.limits) else {
                throw OperationError(.malformedPayload, "not an object")
            }
            switch (try answer.object("enrollment"), try answer.string("link")) {
            case (let enrollment?, nil): return try enrollment.requiredString("appLinkUri")
            case (nil, let link?): return link
            default: throw OperationError(.malformedPayload, "not exactly one of enrollment and link")
            }
        } catch let error as OperationError {
            throw error
        } catch {
            // The reason of a JSON error names members and no values.
            throw OperationError(.malformedPayload, (error as? JSONError)?.description ?? "unreadable")
        }
    }
}

extension OperationBuilder where Operation == AuthCloudApiRegistration {
    /// Sets the server's answer to the request for an enrolment, as the text of the answer's JSON object. The answer has
    /// the link as `enrollment.appLinkUri`, or as `link`: the answer of this product's server to
    /// `POST /admin/v1/activations`.
    public func enrollResponse(_ text: String) -> Self { self.changing { $0.inputs.append(.enrollResponse(text)) } }
    /// Sets the link of the enrolment: an address with a query item `dispatchTokenResponse`.
    public func appLinkUri(_ link: String) -> Self { self.changing { $0.inputs.append(.appLinkUri(link)) } }
}

extension AuthCloudApiRegistration: CustomStringConvertible, CustomReflectable {
    /// A description without the input, which holds a token.
    public var description: String { "AuthCloudApiRegistration" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
