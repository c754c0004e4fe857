import Countersign
import CountersignNames
import Foundation

/// The app that the documentation's listings begin: their steps, in their order and by their calls, and what they leave to an
/// app. It confirms every attribute, has corrected what the server finds wrong, and finishes each result to its end.
struct SeedApp {
    /// What an authentication came to, at its very end.
    enum Ending: Sendable {
        /// A browser is signed in.
        case signedIn(UserLoginResult)
        /// This app is signed in: the code is for its back end.
        case code(AuthorizationCode)
        /// The identity has one factor more.
        case factorAdded
        /// The identity has another PIN.
        case pinChanged
        /// The invitation is part of the account of that server, and its code is void.
        case merged(idmIdentifier: String)
        /// Another device can be personalised with the code.
        case activation(code: String)
        /// The account is gone, and the identity with it.
        case deleted
    }

    func startAuthentication(authenticationInitializationData: AuthenticationInitializationData) throws -> Ending {
        try self.goOn(
            with: CountersignSDK.shared.authenticator.startAuthenticationSynchronous(
                data: authenticationInitializationData))
    }

    /// The same for what an invitation came to.
    func startAuthentication(authenticationInitializationData: AuthenticationInitializationDataWithSession) throws
        -> Ending
    {
        try self.goOn(
            with: CountersignSDK.shared.authenticator.startAuthenticationSynchronous(
                data: authenticationInitializationData))
    }

    private func goOn(with request: AuthenticateRequest) throws -> Ending {
        if request.roles.count > 1 {
            // A role that the person did not have is a mistake of this app.
            guard request.setSelection(YourImplementation.displayRoleSelection(request.roles)) != nil else {
                throw YourError.yourErrorCase
            }
        }
        return try self.confirmAuthenticationAttributes(request: request)
    }

    private func confirmAuthenticationAttributes(request: AuthenticateRequest, isCorrection: Bool = false) throws
        -> Ending
    {
        try SeedAttributes(info: request.info, isCorrection: isCorrection).confirm()
        switch try CountersignSDK.shared.authenticator.prepareAuthenticationUserInformationSynchronous(
            request: request)
        {
        case .failure(let returned):
            return try self.confirmAuthenticationAttributes(request: returned, isCorrection: true)
        case .success(let userInformation):
            return try self.signAuthentication(userInformation: userInformation)
        }
    }

    private func signAuthentication(userInformation: AuthenticationUserInformation) throws -> Ending {
        YourImplementation.showWhatIsSigned(userInformation.confirmedAttributes)
        for authenticator in userInformation.requestedAuthenticators[0] {
            let factor: AuthenticationFactor
            switch authenticator {
            case .device: factor = DeviceFactor()
            case .pin: factor = PinFactor(YourImplementation.askUserForPin())
            case .biometric: factor = try YourImplementation.getBiometricFactor()
            case .otp, .yubikey: throw YourError.yourErrorCase
            }
            try userInformation.sign(factor: factor)
        }
        return try self.finishAuthentication(userInformation: userInformation)
    }

    private func finishAuthentication(userInformation: AuthenticationUserInformation) throws -> Ending {
        let sdk = CountersignSDK.shared
        let personalizer = sdk.personalizer
        switch try sdk.authenticator.finishAuthenticationSynchronous(userInfo: userInformation) {
        case .userLogin(let userLoginResult):
            return .signedIn(userLoginResult)
        case .serviceLogin(let serviceLoginResult):
            return .code(try sdk.authenticator.fetchAuthorizationCodeSynchronous(serviceLoginResult))
        case .apiAccessAddFactor(let apiAccessAddFactor):
            apiAccessAddFactor.setFactor(try sdk.biometrics.factorForEnrolmentSynchronous())
            try personalizer.finishAddAuthenticationFactorSynchronous(request: apiAccessAddFactor)
            return .factorAdded
        case .apiAccessChangePin(let apiAccessChangePin):
            self.choosePin(apiAccessChangePin.pinSpec)
            try personalizer.finishChangePinSynchronous(request: apiAccessChangePin)
            return .pinChanged
        case .apiAccessMergeComplete(idmIdentifier: let idmIdentifier):
            return .merged(idmIdentifier: idmIdentifier)
        case .apiAccessRequestNewActivationData(let apiAccessRequestNewActivationData):
            self.choosePin(apiAccessRequestNewActivationData.pinSpec)
            apiAccessRequestNewActivationData.alias = "My other phone"
            return .activation(
                code: try personalizer.finishRequestNewActivationDataSynchronous(apiAccessRequestNewActivationData))
        case .apiAccessDelete(let apiAccessDelete):
            // The second question: a no here leaves everything as it is.
            guard YourImplementation.askWhetherToDelete() else { throw YourError.yourErrorCase }
            try personalizer.finishDeletionSynchronous(request: apiAccessDelete)
            return .deleted
        case .lockout(
            lockoutInformation: let lockoutInformation, authenticationUserInformation: let authenticationUserInformation
        ):
            guard !lockoutInformation.isPermanent else {
                // Nothing can be done with this identity any more: its place is made free for another activation.
                try personalizer.depersonalizeIdentityManagerSynchronous(
                    idmIdentifier: authenticationUserInformation.idmIdentifier)
                throw YourError.yourErrorCase
            }
            YourImplementation.waitUntil(lockoutInformation.lockedUntil)
            return try self.signAuthentication(userInformation: authenticationUserInformation)
        }
    }

    private func choosePin(_ pinSpec: PinSpecification) {
        var errorText: String?
        while true {
            let result = pinSpec.setPin(
                YourImplementation.askUserForNewPin(pinSpec.minLength, pinSpec.maxLength, errorText))
            guard result != .valid else { return }
            errorText = "The PIN is not taken: \(result)."
        }
    }
}
