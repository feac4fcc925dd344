// Asio and Beast are compiled here, once; every other file sees declarations.
#include <boost/asio/impl/src.hpp>
#include <boost/beast/src.hpp>
